package self

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheKernelTakesTheScore(t *testing.T) {
	now, err := os.ReadFile(OOMScorePath)
	if err != nil {
		t.Fatal(err)
	}
	score, err := strconv.Atoi(strings.TrimSpace(string(now)))
	if err != nil {
		t.Fatal(err)
	}
	if err := OOMScore(OOMScorePath, score+1); err != nil { // a higher one is everyone's to choose
		t.Fatal(err)
	}
	now, err = os.ReadFile(OOMScorePath)
	if got := strings.TrimSpace(string(now)); err != nil || got != strconv.Itoa(score+1) {
		t.Errorf("the score is %s, %v, want %d", got, err, score+1)
	}
}

func TestAScoreThatCannotBeSetSaysWhatHolds(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none", "oom_score_adj")
	if err := OOMScore(none, -999); err == nil || !strings.Contains(err.Error(), "the score stays at") {
		t.Errorf("got %v, want an error that says which score holds", err)
	}
}

func TestTheLimitOfOpenFilesIsThisProcessesAlone(t *testing.T) {
	var before, after unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	ofPrograms := func() string {
		out, err := exec.Command("sh", "-c", "ulimit -Sn").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	had := ofPrograms()
	if err := OpenFiles(before.Max - 1); err != nil {
		t.Fatal(err)
	}
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &after); err != nil {
		t.Fatal(err)
	}
	if after.Cur != before.Max-1 || after.Max != before.Max-1 {
		t.Errorf("the limit is %+v, want %d", after, before.Max-1)
	}
	if before.Cur < before.Max && ofPrograms() != had {
		t.Errorf("programs may open %s files, want %s as before", ofPrograms(), had)
	}
}
