package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// Mounts are the places where the kernel shows its tree: in version 1 one for each
// controller, or a few together; in version 2 a single one.
type Mounts struct {
	Version int // 1 or 2
	trees   []tree
}

// tree is a hierarchy that has some controllers. Version 1 may have others, which
// only sort processes.
type tree struct {
	dir         string
	controllers []string
	counts      []string // controllers that only count, as far as pods are concerned
}

// controllers enforce the limits of pods.
var controllers = [...]string{"cpu", "memory", "pids"}

// counters only count what a pod uses.
var counters = [...]string{"cpuacct", "blkio", "io"}

// FindMounts reads the calling process's mount table.
func FindMounts() (Mounts, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return Mounts{}, fmt.Errorf("find the cgroup file systems: %w", err)
	}
	return chooseMounts(mounts, os.ReadFile)
}

// chooseMounts takes version 1 if it has a controller that pods need: version 2 has none of them then.
func chooseMounts(mounts []*mountinfo.Info, read func(string) ([]byte, error)) (Mounts, error) {
	var first []tree
	var second *tree
	for _, m := range mounts {
		switch m.FSType {
		case "cgroup":
			first = append(first, treeAt(m.Mountpoint, strings.Split(m.VFSOptions, ",")))
		case "cgroup2":
			names, err := read(filepath.Join(m.Mountpoint, "cgroup.controllers"))
			if err == nil && second == nil {
				second = new(treeAt(m.Mountpoint, strings.Fields(string(names))))
			}
		}
	}
	switch {
	case slices.ContainsFunc(first, func(t tree) bool { return len(t.controllers) > 0 }):
		if second != nil {
			first = append(first, *second)
		}
		return Mounts{Version: 1, trees: first}, nil
	case second != nil:
		return Mounts{Version: 2, trees: []tree{*second}}, nil
	}
	return Mounts{}, fmt.Errorf("find the cgroup file systems: none of those that are mounted can limit pods")
}

// treeAt leaves out controllers that the package does not use.
func treeAt(dir string, names []string) tree {
	t := tree{dir: dir}
	for _, name := range names {
		switch {
		case slices.Contains(controllers[:], name):
			t.controllers = append(t.controllers, name)
		case slices.Contains(counters[:], name):
			t.counts = append(t.counts, name)
		}
	}
	return t
}

// Dirs returns the top of each controller's tree.
func (m Mounts) Dirs() map[string]string {
	dirs := map[string]string{}
	for _, t := range m.trees {
		for _, name := range slices.Concat(t.controllers, t.counts) {
			dirs[name] = t.dir
		}
	}
	return dirs
}

// Of returns the cgroup of a process below each of Dirs. It is empty if the process has no
// cgroup of its own, or different ones for CPU time and memory.
func (m Mounts) Of(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return "" // it has ended
	}
	return m.in(string(text))
}

func (m Mounts) in(table string) string {
	found := map[string]string{}
	for line := range strings.Lines(table) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for name := range strings.SplitSeq(fields[1], ",") {
			found[name] = strings.TrimSuffix(fields[2], "/")
		}
	}
	if m.Version == 2 {
		return found[""]
	}
	if found["cpuacct"] != found["memory"] {
		return ""
	}
	return found["memory"]
}

// Missing returns the controllers that this machine lacks. Their limits would not hold.
func (m Mounts) Missing() []string {
	var missing []string
	for _, name := range controllers {
		if !slices.ContainsFunc(m.trees, func(t tree) bool { return slices.Contains(t.controllers, name) }) {
			missing = append(missing, name)
		}
	}
	return missing
}

// LimitsSwap reports whether the kernel can bound the swap of a cgroup. The top of the tree
// has no such file, so a child is asked. With no child cgroup the answer is false.
func (m Mounts) LimitsSwap() bool {
	for _, t := range m.trees {
		files, err := filepath.Glob(filepath.Join(t.dir, "*", "memory.swap.max"))
		if err == nil && len(files) > 0 {
			return true
		}
	}
	return false
}
