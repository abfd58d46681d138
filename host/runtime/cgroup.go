package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// containerCgroups lists the cgroups of this node's containers in every hierarchy, as their OCI configurations name
// them. It leaves out scopes of systemd, which systemd removes when the last process ends.
func (l layout) containerCgroups() []string {
	paths, err := filepath.Glob(filepath.Join(l.tasks(), "io.containerd.runtime.v2.task/*/*/config.json"))
	if err != nil {
		return nil
	}
	var groups []string
	for _, path := range paths {
		var spec struct {
			Linux struct {
				CgroupsPath string `json:"cgroupsPath"`
			} `json:"linux"`
		}
		raw, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(raw, &spec) != nil {
			continue // cut off by a kill: its processes are found by their files
		}
		groups = append(groups, cgroupDirs(spec.Linux.CgroupsPath)...)
	}
	return groups
}

// cgroupDirs returns the directories of a cgroup in every hierarchy that has it.
func cgroupDirs(name string) []string {
	if !strings.HasPrefix(name, "/") || filepath.Clean(name) == "/" {
		return nil // none, or systemd's
	}
	var dirs []string
	trees, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return nil
	}
	for _, m := range trees {
		if dir := filepath.Join(m.Mountpoint, name); isDir(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// cgroupProcesses lists the processes in cgroups and below them.
func cgroupProcesses(groups []string) []int {
	var found []int
	for _, dir := range withChildren(groups) {
		raw, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			continue // gone
		}
		for word := range strings.FieldsSeq(string(raw)) {
			// PID 0 is a process outside of our PID namespace; kill(0) would signal our own process group.
			if pid, err := strconv.Atoi(word); err == nil && pid > 1 && pid != os.Getpid() {
				found = append(found, pid)
			}
		}
	}
	return found
}

// withChildren lists cgroups and all below them, parents first.
func withChildren(groups []string) []string {
	var all []string
	for _, group := range groups {
		_ = filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return nil // a cgroup that goes away meanwhile has nothing to list
		})
	}
	return all
}

// removeCgroups removes the cgroups of containers, and those above that were made for their pods and are empty now.
func removeCgroups(ctx context.Context, groups []string) error {
	var last error
	err := until(ctx, func() bool {
		dirs := withChildren(groups)
		last = nil
		for _, dir := range slices.Backward(dirs) {
			if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				last = err // busy for a moment after its last process ended
			}
		}
		return last == nil
	})
	if err != nil {
		return fmt.Errorf("remove the cgroups of containers: %w", errors.Join(err, last))
	}
	for _, dir := range groups {
		removePodCgroups(filepath.Dir(dir))
	}
	return nil
}

// removePodCgroups removes a pod's cgroup, that of its QoS class and that of all pods. The kernel refuses to remove one
// with another node's pods in it.
func removePodCgroups(dir string) {
	for strings.Contains(dir, "kubepods") || strings.HasPrefix(filepath.Base(dir), "pod") {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
		dir = filepath.Dir(dir)
	}
}
