package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	removePatience = 10 * time.Second
	removePause    = 5 * time.Millisecond
)

// remove ends the processes in a cgroup, and removes it with all cgroups below it.
func (m Mounts) remove(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, removePatience)
	defer cancel()
	for {
		left := removeDirs(m.dirs(path))
		if left == nil {
			return nil
		}
		if err := end(m.dirs(path)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("remove cgroup: %w", errors.Join(left, ctx.Err()))
		case <-time.After(removePause): // a process takes a moment to be gone
		}
	}
}

// removeDirs removes the directories of cgroups that are empty, children first.
func removeDirs(dirs []string) error {
	var errs []error
	for _, dir := range slices.Backward(withChildren(dirs)) {
		// Not RemoveAll: the kernel's files in there cannot be removed, and need not be.
		if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("%s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}

// withChildren lists cgroups and all below them, parents first.
func withChildren(dirs []string) []string {
	var all []string
	for _, dir := range dirs {
		// A cgroup that goes away meanwhile has no children.
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return nil
		})
	}
	return all
}

// end kills every process in some cgroups. Where the kernel can, it forbids new processes in them meanwhile.
func end(dirs []string) error {
	all := withChildren(dirs)
	processes := map[int]bool{}
	for _, dir := range all {
		for _, pid := range processesIn(dir) {
			processes[pid] = true
		}
	}
	if processes[os.Getpid()] {
		return fmt.Errorf("end the processes in cgroups %q: this process is one of them", dirs)
	}
	for _, dir := range all {
		// Not every tree has these files, and they may be gone by now.
		_ = os.WriteFile(filepath.Join(dir, "pids.max"), []byte("0"), 0)
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
	}
	for pid := range processes {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end process %d, left in cgroups %q: %w", pid, dirs, err)
		}
	}
	return nil
}

func processesIn(dir string) []int {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil // gone
	}
	var pids []int
	for word := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 1 { // 0 is a process outside our PID namespace
			pids = append(pids, pid)
		}
	}
	return pids
}
