package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Enter moves the calling process into a cgroup, which it makes. Programs that the process starts later run there too.
func (m Mounts) Enter(cgroup string) error {
	path := filepath.Clean("/" + cgroup)
	if m.Of(os.Getpid()) == strings.TrimSuffix(path, "/") {
		return nil
	}
	if err := m.makeFor(path); err != nil {
		return err
	}
	var errs []error
	for _, t := range m.used() {
		errs = append(errs, t.move(path, os.Getpid()))
	}
	return errors.Join(errs...)
}

// Gather moves the processes that are in no cgroup below the top into one, which it makes, and returns how many. The first
// process and the threads of the kernel stay where they are: no limit of a cgroup may hold those up.
func (m Mounts) Gather(cgroup string) (moved int, err error) {
	path := filepath.Clean("/" + cgroup)
	if path == "/" {
		return 0, errors.New("the cgroup at the top cannot be the one that the processes there are moved to")
	}
	if err := m.makeFor(path); err != nil {
		return 0, err
	}
	seen := map[int]bool{}
	var errs []error
	for _, t := range m.used() {
		for _, pid := range processesIn(t.dir) {
			if ofKernel(pid) {
				continue
			}
			if err := t.move(path, pid); err != nil {
				errs = append(errs, err)
				continue
			}
			seen[pid] = true
		}
	}
	return len(seen), errors.Join(errs...)
}

// makeFor makes a cgroup in every tree that counts or limits.
func (m Mounts) makeFor(path string) error {
	if path == "/" {
		return nil
	}
	if m.Version == 2 {
		return m.make(path)
	}
	for _, t := range m.used() {
		if err := os.MkdirAll(filepath.Join(t.dir, path), 0o755); err != nil {
			return fmt.Errorf("make cgroup: %w", err)
		}
	}
	return nil
}

// used returns the trees that count or limit what pods use. Others only sort processes, and belong to those who do.
func (m Mounts) used() []tree {
	return slices.DeleteFunc(slices.Clone(m.trees), func(t tree) bool { return len(t.controllers)+len(t.counts) == 0 })
}

// move moves a process with all its threads. A process that has ended is no failure.
func (t tree) move(path string, pid int) error {
	err := write(filepath.Join(t.dir, path, "cgroup.procs"), strconv.Itoa(pid))
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("move process %d: %w", pid, err)
	}
	return nil
}

// ofKernel reports whether a process is a thread of the kernel, or has ended.
func ofKernel(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || kernelThread(string(stat))
}

// kernelThread reads the flags in /proc/PID/stat. The name before them may hold anything.
func kernelThread(stat string) bool {
	const flags, isKernel = 6, 0x00200000 // PF_KTHREAD
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= flags {
		return true
	}
	n, err := strconv.ParseUint(fields[flags], 10, 64)
	return err != nil || n&isKernel != 0
}

// Has reports whether there is a cgroup, in any tree.
func (m Mounts) Has(cgroup string) bool { return len(m.dirs(filepath.Clean("/"+cgroup))) > 0 }
