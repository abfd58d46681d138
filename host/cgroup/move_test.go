package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ownTop returns mounts whose top is a cgroup of this test, with some processes in it. Nothing else of the machine moves.
func ownTop(t *testing.T, processes int) (Mounts, []int) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root changes cgroups")
	}
	mounts, err := FindMounts()
	if err != nil {
		t.Skip(err)
	}
	at := fmt.Sprintf("/nodal-test-move-%d", os.Getpid())
	if err := mounts.makeFor(at + "/below"); err != nil { // version 2 switches controllers on above it
		t.Fatal(err)
	}
	for _, dir := range mounts.dirs(at + "/below") {
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	own := Mounts{Version: mounts.Version}
	for _, tree := range mounts.used() {
		tree.dir = filepath.Join(tree.dir, at)
		own.trees = append(own.trees, tree)
	}
	t.Cleanup(func() {
		if err := mounts.remove(t.Context(), at); err != nil && !strings.Contains(err.Error(), "context") {
			t.Error(err)
		}
	})
	var pids []int
	for range processes {
		sleep := exec.Command("sleep", "1000")
		if err := sleep.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			sleep.Process.Kill()
			sleep.Wait()
		})
		for _, tree := range own.trees {
			// A cgroup of version 2 that has controllers below takes processes only if it is the top.
			if err := tree.move("", sleep.Process.Pid); err != nil {
				t.Skip(err)
			}
		}
		pids = append(pids, sleep.Process.Pid)
	}
	return own, pids
}

func TestProcessesWithoutACgroupAreGathered(t *testing.T) {
	mounts, pids := ownTop(t, 2)
	if mounts.Version == 2 {
		t.Skip("in version 2 only the top of the machine has processes beside cgroups with controllers")
	}
	moved, err := mounts.Gather("/system")
	if err != nil || moved != len(pids) {
		t.Fatalf("moved %d (%v), want %d", moved, err, len(pids))
	}
	for _, tree := range mounts.trees {
		got := processesIn(filepath.Join(tree.dir, "system"))
		slices.Sort(got)
		if !slices.Equal(got, pids) || len(processesIn(tree.dir)) > 0 {
			t.Errorf("in %s are %v, and %v are left, want %v and none", tree.dir, got, processesIn(tree.dir), pids)
		}
	}
	if moved, err := mounts.Gather("system"); err != nil || moved != 0 {
		t.Errorf("a second time: moved %d (%v), want none", moved, err)
	}
	if _, err := mounts.Gather("/"); err == nil {
		t.Error("the top is taken as the place to move to")
	}
}

func TestAProcessEntersACgroupOfItsOwn(t *testing.T) {
	mounts, _ := ownTop(t, 0)
	var before []string
	machine, err := FindMounts()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range machine.used() {
		before = append(before, filepath.Join(tree.dir, cgroupIn(string(text), machine.Version, tree)))
	}
	defer func() { // before the cgroup is removed
		for _, dir := range before {
			if err := write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(os.Getpid())); err != nil {
				t.Error(err)
			}
		}
	}()
	for range 2 {
		if err := mounts.Enter("/programs/agent"); err != nil {
			t.Fatal(err)
		}
	}
	for _, tree := range mounts.trees {
		if got := processesIn(filepath.Join(tree.dir, "programs/agent")); !slices.Equal(got, []int{os.Getpid()}) {
			t.Errorf("in %s are %v, want this process alone", tree.dir, got)
		}
	}
}

// cgroupIn returns the cgroup of a table in one tree.
func cgroupIn(table string, version int, of tree) string {
	for line := range strings.Lines(table) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		names := strings.Split(fields[1], ",")
		if version == 2 && fields[1] == "" || slices.ContainsFunc(names, func(name string) bool {
			return slices.Contains(of.controllers, name) || slices.Contains(of.counts, name)
		}) {
			return fields[2]
		}
	}
	return ""
}

func TestThreadsOfTheKernelAreKnown(t *testing.T) {
	for _, c := range []struct {
		name, stat string
		want       bool
	}{
		{"a thread of the kernel", "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0", true},
		{"a program", "812 (containerd) S 1 812 812 0 -1 1077936384 9 9", false},
		{"a program with a strange name", "812 (a) S 1 (b) S 1 812 812 0 -1 4194560 9 9", false},
		{"one that has ended", "", true},
	} {
		if got := kernelThread(c.stat); got != c.want {
			t.Errorf("%s: got %t, want %t", c.name, got, c.want)
		}
	}
	if ofKernel(os.Getpid()) {
		t.Error("this process is taken for a thread of the kernel")
	}
}
