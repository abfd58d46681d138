package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/cgroups/v3"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

const (
	tries = 300
	rest  = 10 * time.Millisecond
)

// group is the cgroup of a sandbox: a directory in each hierarchy.
type group []string

// groupAt names the directories of a cgroup, which need not exist.
func groupAt(path string) (group, error) {
	if cgroups.Mode() == cgroups.Unified {
		return group{filepath.Join("/sys/fs/cgroup", path)}, nil
	}
	trees, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return nil, err
	}
	var g group
	for _, tree := range trees {
		g = append(g, filepath.Join(tree.Mountpoint, path))
	}
	if len(g) == 0 {
		return nil, errors.New("no cgroup is mounted")
	}
	return g, nil
}

// make makes the cgroup, with the smallest share of the CPU.
func (g group) make() error {
	for _, dir := range g {
		if err := makeGroup(dir); err != nil {
			return err
		}
		for name, smallest := range map[string]string{"cpu.shares": "2", "cpu.weight": "1"} {
			if err := write(filepath.Join(dir, name), smallest); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// makeGroup makes a cgroup and those above it. A new one with a set of CPUs takes
// no process before the set is filled.
func makeGroup(dir string) error {
	if isReady(dir) {
		return nil
	}
	above := filepath.Dir(dir)
	if err := makeGroup(above); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		set, err := os.ReadFile(filepath.Join(above, name))
		if errors.Is(err, os.ErrNotExist) || cgroups.Mode() == cgroups.Unified {
			return nil // another hierarchy, or one where an empty set is that of above
		}
		if err := errors.Join(err, write(filepath.Join(dir, name), string(set))); err != nil {
			return err
		}
	}
	return nil
}

// isReady reports whether a cgroup is there and takes processes.
func isReady(dir string) bool {
	if _, err := os.Stat(dir); err != nil {
		return false
	}
	set, err := os.ReadFile(filepath.Join(dir, "cpuset.mems"))
	return err != nil || len(strings.TrimSpace(string(set))) > 0 || cgroups.Mode() == cgroups.Unified
}

// write writes to a file that is there.
func write(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func (g group) add(pid int) error {
	for _, dir := range g {
		if err := write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

// kill ends the processes of a cgroup whose shim is dead.
func (g group) kill() error {
	for _, dir := range g {
		raw, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("look for what is left of a sandbox: %w", err)
		}
		for word := range strings.FieldsSeq(string(raw)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 1 {
				_ = unix.Kill(pid, unix.SIGKILL) // the removal of the cgroup tells whether it worked
			}
		}
	}
	return nil
}

// remove removes the cgroup. It is in use for a moment after its last process
// has ended.
func (g group) remove() error {
	var last error
	for range tries {
		last = nil
		for _, dir := range g {
			if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
				last = err
			}
		}
		if last == nil {
			return nil
		}
		time.Sleep(rest)
	}
	return fmt.Errorf("remove the cgroup of a sandbox: %w", last)
}
