package lowmem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience bounds the wait for the kernel.
const patience = 30 * time.Second

func TestACgroupThatUsesMoreIsNoticed(t *testing.T) {
	dir := fmt.Sprintf("/sys/fs/cgroup/memory/nodal-lowmem-%d", os.Getpid())
	if _, err := os.Stat("/sys/fs/cgroup/memory/cgroup.event_control"); err != nil {
		t.Skip("version 1 of cgroups has these events alone")
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err) // only root makes cgroups
	}
	defer func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	}()
	eater := exec.Command("sh", "-c", "read go; head -c 30000000 /dev/zero | tail -c 30000000 >/dev/null; read end")
	words, err := eater.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := eater.Start(); err != nil {
		t.Fatal(err)
	}
	defer eater.Wait() // it ends with its input
	defer words.Close()
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, eater.Process.Pid), 0); err != nil {
		t.Fatal(err)
	}
	n := New()
	defer n.disarm()
	for _, more := range []int64{1 << 40, 8 << 20} { // the second takes the place of the first
		if err := n.Arm(dir, more); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-n.Wakes():
		t.Error("there is a notice before anything is used")
	default:
	}
	if _, err := words.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-n.Wakes():
	case <-time.After(patience):
		t.Error("30 MB are used, and there is no notice")
	}
}

func TestThePressureOfTheMachineIsWatchedUntilTheContextEnds(t *testing.T) {
	const file = "/proc/pressure/memory"
	if _, err := os.ReadFile(file); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- New().Run(ctx, file, filepath.Join(t.TempDir(), "none")) }()
	select {
	case err := <-ended:
		t.Fatalf("it ended with %v before its context", err)
	default:
	}
	cancel()
	select {
	case err := <-ended:
		if errors.Is(err, fs.ErrPermission) {
			t.Skip(err)
		}
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("it does not end")
	}
}

func TestANoticeOfACgroupThatIsGoneIsRefused(t *testing.T) {
	if err := New().Arm(filepath.Join(t.TempDir(), "gone"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that it does not exist", err)
	}
}
