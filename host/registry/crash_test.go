package registry

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"testing"
)

// crashDir marks the test binary as the child that will be killed.
const crashDir = "NODAL_TEST_CRASH_DIR"

// TestMain is the child's way in: it imports whatever comes on standard input,
// over and over, and says when each import is done.
func TestMain(m *testing.M) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := importForEver(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func importForEver(dir string) error {
	tarball, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	s, err := Open(Config{Dir: dir, Reserve: 1})
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		name := fmt.Sprintf("registry.test/app:%d", n)
		if _, err := s.Import(context.Background(), bytes.NewReader(tarball), Options{Name: name}); err != nil {
			return err
		}
		fmt.Println(name)
	}
}

// TestAKilledImportLeavesEachImageWholeOrNotThere kills the process that imports,
// at a different moment each time, and looks at what the disk then says.
func TestAKilledImportLeavesEachImageWholeOrNotThere(t *testing.T) {
	tarball := tarOf(t, dockerSave(t, ourImage(t))...)
	dir := t.TempDir()
	for round := range 20 {
		told := killAfter(t, dir, tarball, round)
		var log bytes.Buffer
		s, err := Open(Config{Dir: dir, Reserve: 1, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if log.Len() > 0 { // the log names dropped images
			t.Errorf("round %d: %s", round, &log)
		}
		for _, name := range told {
			if _, ok := s.root(name); !ok {
				t.Errorf("round %d: %s was imported and is gone", round, name)
			}
		}
		if left := filesBelow(t, s.staging()); len(left) > 0 {
			t.Errorf("round %d: %q is left", round, left)
		}
	}
}

// killAfter runs the child until it has reported some imports, lets it begin the next, and
// kills it. It returns the reports.
func killAfter(t *testing.T, dir string, tarball []byte, imports int) (told []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self)
	child.Env = append(os.Environ(), crashDir+"="+dir)
	child.Stdin, child.Stderr = bytes.NewReader(tarball), os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for len(told) <= imports && lines.Scan() {
		told = append(told, lines.Text())
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // reports from before the signal count too
		told = append(told, lines.Text())
	}
	child.Wait() // reports the signal, as intended
	if len(told) == 0 {
		t.Fatal("the child imported nothing")
	}
	return told
}
