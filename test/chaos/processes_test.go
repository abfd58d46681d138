package chaos

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// program is the process of a counting container.
type program struct {
	pid, parent int // parent is the shim
	uid         string
}

// programs returns the shells of the node's pods, found by their cgroups.
func (a *alone) programs() []program {
	var found []program
	for _, pid := range pids() {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err != nil || !strings.HasPrefix(string(line), "sh\x00-c\x00i=0;") {
			continue
		}
		uid, ok := a.podOf(pid)
		parent := parentOf(pid)
		// A shell that has forked, but not yet executed another program, looks the same.
		if ok && nameOf(parent) == "containerd-shim-runc-v2" {
			found = append(found, program{pid, parent, uid})
		}
	}
	return found
}

// podOf returns the pod of a process, by its cgroup. systemd replaces the dashes of a UID with
// underscores.
func (a *alone) podOf(pid int) (uid string, ok bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return "", false
	}
	for _, uid := range a.uids {
		if strings.Contains(strings.ReplaceAll(string(text), "_", "-"), uid) {
			return uid, true
		}
	}
	return "", false
}

// nameOf returns the name of a process's program.
func nameOf(pid int) string {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return ""
	}
	path, _, _ := strings.Cut(string(line), "\x00")
	return filepath.Base(path)
}

func parentOf(pid int) int {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	// The name before it is in brackets and may hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}

// processes returns the processes of the node's own runtime that run a program of this name.
func (a *alone) processes(name string) []int {
	var found []int
	for _, pid := range pids() {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err != nil {
			continue
		}
		if nameOf(pid) == name && strings.Contains(string(line), a.d.Dir+"/") {
			found = append(found, pid)
		}
	}
	return found
}

func pids() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all
}
