package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"nodal/node/limit"
)

// Hold sets the limits of a cgroup that belongs to another program, such as that of the machine's services. It is named
// by a path below the top of the tree, or by a slice. Settings that the limits leave open stay as they are.
func (m Mounts) Hold(ctx context.Context, cgroup string, l limit.Limits) error {
	if err := m.hold(cgroup, l); err != nil {
		return fmt.Errorf("hold cgroup %s to what is reserved for it: %w", cgroup, err)
	}
	unit := path.Base(cgroup)
	if _, err := os.Stat(systemdSocket); err != nil || !strings.HasSuffix(unit, ".slice") {
		return nil
	}
	// systemd comes after the kernel: the cgroup exists then, and systemd does not reset it.
	return newSystemd(m.Version).hold(ctx, unit, l)
}

func (m Mounts) hold(cgroup string, l limit.Limits) error {
	var errs []error
	for _, s := range settings(m.Version, l) {
		if !says(l, s) {
			continue
		}
		at := slices.IndexFunc(m.trees, func(t tree) bool { return slices.Contains(t.controllers, s.controller) })
		if at < 0 {
			errs = append(errs, fmt.Errorf("this machine has no cgroups for %s", s.controller))
			continue
		}
		dir, err := find(m.trees[at].dir, cgroup)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, write(filepath.Join(dir, s.file), s.value))
	}
	return errors.Join(errs...)
}

// says reports whether limits have a bound for a setting.
func says(l limit.Limits, s setting) bool {
	switch s.controller {
	case "cpu":
		return l.CPUShares > 0 && (s.file == "cpu.shares" || s.file == "cpu.weight")
	case "memory":
		switch s.file {
		case "memory.min":
			return l.MemoryMin > 0
		case "memory.low", "memory.high":
			return false
		}
		return l.Memory > 0
	}
	return l.Pids > 0
}

// find returns the path of a cgroup that is named by its path, or by a slice within others.
func find(tree, cgroup string) (string, error) {
	literal := filepath.Join(tree, filepath.Clean("/"+cgroup))
	for _, dir := range []string{literal, filepath.Join(tree, parseRoot(cgroup).slices())} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, nil
		}
	}
	return "", fmt.Errorf("find it as %s: %w", literal, fs.ErrNotExist)
}
