package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nodal/node/limit"
)

// make makes the directory of a cgroup, and those above it, in every tree that has a controller.
func (m Mounts) make(path string) error {
	for _, t := range m.trees {
		if len(t.controllers) == 0 {
			continue
		}
		if err := os.MkdirAll(filepath.Join(t.dir, path), 0o755); err != nil {
			return fmt.Errorf("make cgroup: %w", err)
		}
		if m.Version == 2 {
			if err := t.switchOn(filepath.Dir(path)); err != nil {
				return err
			}
		}
	}
	return nil
}

// switchOn enables the controllers for the children of a cgroup, which requires that they are enabled on each level
// above it. Containers may have more kinds of limits than a pod, so it enables all controllers that there are.
func (t tree) switchOn(path string) error {
	if path != "/" {
		if err := t.switchOn(filepath.Dir(path)); err != nil {
			return err
		}
	}
	dir := filepath.Join(t.dir, path)
	has, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("read the controllers of a cgroup: %w", err)
	}
	file := filepath.Join(dir, "cgroup.subtree_control")
	on, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the controllers below a cgroup: %w", err)
	}
	atWork := strings.Fields(string(on))
	for controller := range strings.FieldsSeq(string(has)) {
		if slices.Contains(atWork, controller) {
			continue
		}
		err := os.WriteFile(file, []byte("+"+controller), 0)
		if err != nil && slices.Contains(t.controllers, controller) {
			return fmt.Errorf("enable controller %s below a cgroup: %w", controller, err)
		}
	}
	return nil
}

// there reports whether a cgroup is in every tree in which make would make it.
func (m Mounts) there(path string) bool {
	return !slices.ContainsFunc(m.trees, func(t tree) bool {
		_, err := os.Stat(filepath.Join(t.dir, path))
		return len(t.controllers) > 0 && err != nil
	})
}

// bound writes limits into the files of a cgroup. It goes on after a failure.
func (m Mounts) bound(path string, l limit.Limits) error {
	var errs []error
	for _, s := range settings(m.Version, l) {
		for _, t := range m.trees {
			if slices.Contains(t.controllers, s.controller) {
				errs = append(errs, write(filepath.Join(t.dir, path, s.file), s.value))
			}
		}
	}
	return errors.Join(errs...)
}

func write(file, value string) error {
	if err := os.WriteFile(file, []byte(value), 0); err != nil {
		return fmt.Errorf("write %q: %w", value, err)
	}
	return nil
}

// usage returns the bytes of memory that a cgroup uses, or zero if it does not say.
func (m Mounts) usage(path string) int64 {
	file := map[int]string{1: "memory.usage_in_bytes", 2: "memory.current"}[m.Version]
	for _, t := range m.trees {
		if !slices.Contains(t.controllers, "memory") {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(t.dir, path, file)); err == nil {
			bytes, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // a number, or the file is none
			return bytes
		}
	}
	return 0
}

// dirs returns the directories of a cgroup, in every tree where it has one.
func (m Mounts) dirs(path string) []string {
	var dirs []string
	for _, t := range m.trees {
		dir := filepath.Join(t.dir, path)
		if _, err := os.Stat(dir); err == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// children returns the names of the cgroups directly below a cgroup, in any tree.
func (m Mounts) children(path string) ([]string, error) {
	var found []string
	for _, t := range m.trees {
		entries, err := os.ReadDir(filepath.Join(t.dir, path))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list cgroups: %w", err)
		}
		for _, e := range entries {
			if e.IsDir() {
				found = append(found, e.Name())
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
