package stats

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

func TestProcessesOfARealCgroupAreThoseThatRunNow(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes cgroups")
	}
	top, in := "/sys/fs/cgroup", Cgroups{Version: 2}
	if _, err := os.Stat(top + "/cgroup.controllers"); err != nil {
		top, in.Version = top+"/cpu", 1
	}
	in.Dirs = map[string]string{"cpu": top}
	g := newTree(in).group("/nodal-stats-processes-" + strconv.Itoa(os.Getpid()))
	dir := filepath.Dir(g.file("cpu", "cgroup.procs"))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	}()
	defer g.close()
	r := newReader()
	var want []string
	for range 3 {
		sleeper := exec.Command("sleep", "600")
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		defer sleeper.Wait() // it is killed
		defer sleeper.Process.Kill()
		pid := strconv.Itoa(sleeper.Process.Pid)
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(pid), 0); err != nil {
			t.Fatal(err)
		}
		want = append(want, pid)
		g.listed = time.Now() // a slow machine's second may be over
		if got := g.processes(r); len(got) != len(want) || !slices.Contains(got, pid) {
			t.Errorf("got processes %q, want %q", got, want)
		}
	}
}
