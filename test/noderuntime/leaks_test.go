package noderuntime

import (
	"os"
	"path/filepath"
	"strings"

	"nodal/host/runtime"
	"nodal/test/rig"
)

// wantNothing checks that the machine has nothing of the node that was not there before.
func (n *node) wantNothing(before rig.Machine) {
	n.t.Helper()
	for _, leak := range rig.Leaks(before) {
		n.t.Errorf("left behind: %s", leak)
	}
	for _, dir := range []string{filepath.Join(n.config.RootDir, "runtime"), runtime.DefaultStateDir(n.config.RootDir)} {
		if _, err := os.Lstat(dir); err == nil {
			n.t.Errorf("left behind: %s", dir)
		}
	}
	id := runtime.ID(n.config.RootDir)
	for _, p := range rig.Snapshot().Processes {
		pid, _, _ := strings.Cut(p, "@")
		line, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		if err == nil && (strings.Contains(string(line), id) || strings.Contains(string(line), n.config.RootDir)) {
			n.t.Errorf("left behind: process %s (%q)", pid, line)
		}
	}
	n.wantNoRecords(id)
}

// wantNoRecords checks that the CNI library has no record of a pod.
func (n *node) wantNoRecords(id string) {
	n.t.Helper()
	files, err := filepath.Glob("/var/lib/cni/results/*")
	if err != nil {
		n.t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && (strings.Contains(string(text), "nd-"+id[:6]) || strings.Contains(string(text), id)) {
			n.t.Errorf("left behind: %s", file)
		}
	}
}
