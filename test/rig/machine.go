package rig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// process holds the facts that show a process's owner.
type process struct {
	pid     int
	parent  int
	started string // in clock ticks since boot; identifies the process together with its pid
	command string
	root    string // the line of its mount table for "/"
	cgroups string
	environ string
}

func (p process) String() string { return fmt.Sprintf("process %d (%s)", p.pid, p.command) }

// processes lists all processes, without kernel threads and those that end meanwhile.
func processes() []process {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well-formed
	var all []process
	for _, dir := range dirs {
		if p, ok := readProcess(dir); ok {
			all = append(all, p)
		}
	}
	return all
}

func readProcess(dir string) (process, bool) {
	pid, err := strconv.Atoi(filepath.Base(dir))
	if err != nil {
		return process{}, false
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return process{}, false
	}
	// The name in parentheses may hold anything: count from its end.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const stateField, parentField, startField = 0, 1, 19
	if len(fields) <= startField || fields[stateField] == "Z" {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[parentField])
	if err != nil {
		return process{}, false
	}
	p := process{
		pid: pid, parent: parent, started: fields[startField],
		command: strings.TrimSpace(strings.ReplaceAll(readAll(dir, "cmdline"), "\x00", " ")),
		cgroups: readAll(dir, "cgroup"),
		environ: readAll(dir, "environ"),
	}
	if p.command == "" {
		return process{}, false
	}
	for line := range strings.Lines(readAll(dir, "mountinfo")) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == "/" {
			p.root = line
			break
		}
	}
	return p, true
}

// readAll reads a file of a process; for a process that is gone it returns "".
func readAll(dir, name string) string {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return string(data)
}

// mountpoints returns the mount points of this process's namespace, deepest last.
func mountpoints() []string {
	return pointsOf(nil)
}

// pointsOf returns the mount points that a filter accepts.
func pointsOf(filter mountinfo.FilterFunc) []string {
	mounts, err := mountinfo.GetMounts(filter)
	if err != nil {
		return nil
	}
	var points []string
	for _, m := range mounts {
		points = append(points, m.Mountpoint)
	}
	return points
}

// links returns the bridges and the ends of veth pairs, as "name" or "name on bridge".
func links() []string {
	entries, err := os.ReadDir("/sys/class/net")
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		dir := filepath.Join("/sys/class/net", e.Name())
		master, _ := os.Readlink(filepath.Join(dir, "master")) // an interface without a master is no error
		switch {
		case exists(filepath.Join(dir, "bridge")):
			names = append(names, e.Name())
		case strings.HasPrefix(e.Name(), "veth") && master != "":
			names = append(names, e.Name()+" on "+filepath.Base(master))
		case strings.HasPrefix(e.Name(), "veth"):
			names = append(names, e.Name())
		}
	}
	return names
}

// cgroupRoots returns the mounted hierarchies of either version.
func cgroupRoots() []string {
	return pointsOf(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
}

// cgroupDirs returns the cgroups at and below name in every hierarchy, parents first.
func cgroupDirs(name string) []string {
	var dirs []string
	for _, root := range cgroupRoots() {
		walk := func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // the cgroup was removed during the walk
			}
			if err == nil && d.IsDir() && path != root {
				dirs = append(dirs, path)
			}
			return err
		}
		if err := filepath.WalkDir(filepath.Join(root, name), walk); err != nil {
			continue // a hierarchy that goes away has no cgroups
		}
	}
	return dirs
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
