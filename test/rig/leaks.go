package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// RunEnv names the variable that marks the processes of one test run. Every process below it
// inherits the variable.
const RunEnv = "NODAL_TEST_RUN"

// Machine lists what tests are likely to leave behind, at one moment.
type Machine struct {
	Processes []string
	Mounts    []string
	NetNS     []string
	Links     []string
	Ports     []string
	Tables    []string
	Cgroups   []string
}

// Snapshot lists the machine's processes, mounts, named network namespaces, bridges, host ports,
// nftables tables and cgroups.
func Snapshot() Machine {
	var m Machine
	for _, p := range processes() {
		m.Processes = append(m.Processes, processKey(p))
	}
	m.Mounts = mountpoints()
	for _, dir := range []string{"/run/netns", "/var/run/netns"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // no named namespace was ever made on this machine
		}
		for _, e := range entries {
			m.NetNS = append(m.NetNS, filepath.Join(dir, e.Name()))
		}
	}
	m.Links = links()
	m.Ports = portMappings()
	m.Tables = tables()
	m.Cgroups = cgroupDirs("/")
	return m
}

// Leaks lists what tests have added to the machine since before. Rigs of other test runs in
// progress do not count. It waits some seconds for what is going away.
func Leaks(before Machine) []string {
	var found []string
	eventually(20*time.Second, func() bool {
		found = Left(before)
		return len(found) == 0
	})
	return found
}

// Left lists what there is now beyond what there was before, at once.
func Left(before Machine) []string {
	var found []string
	for _, p := range processes() {
		if !slices.Contains(before.Processes, processKey(p)) && fromTests(p) {
			found = append(found, p.String())
		}
	}
	now := Snapshot()
	for _, kind := range []struct {
		name        string
		before, now []string
	}{
		{"mount", before.Mounts, now.Mounts},
		{"network namespace", before.NetNS, now.NetNS},
		{"network interface", before.Links, now.Links},
		{"port mapping", before.Ports, now.Ports},
		{"nftables table", before.Tables, now.Tables},
		{"cgroup", before.Cgroups, now.Cgroups},
	} {
		for _, item := range kind.now {
			if !slices.Contains(kind.before, item) && !busyRig(item) && !foreign(item, kind.before) {
				found = append(found, kind.name+" "+item)
			}
		}
	}
	return found
}

func processKey(p process) string { return fmt.Sprintf("%d@%s", p.pid, p.started) }

// fromTests reports whether a process carries this run's mark, or uses files of a rig whose owner
// is gone.
func fromTests(p process) bool {
	if p.pid == os.Getpid() || ancestor(p.pid) {
		return false
	}
	if run := os.Getenv(RunEnv); run != "" && strings.Contains(p.environ+"\x00", RunEnv+"="+run+"\x00") {
		return true
	}
	text := p.command + " " + p.root + " " + p.cgroups
	return strings.Contains(text, dirPrefix) && !busyRig(text)
}

// ancestor reports whether pid is an ancestor of this process: make and the shell carry the mark
// too.
func ancestor(pid int) bool {
	for above := os.Getppid(); above > 0; {
		if above == pid {
			return true
		}
		p, ok := readProcess(fmt.Sprint("/proc/", above))
		if !ok {
			return false
		}
		above = p.parent
	}
	return false
}

// busyRig reports whether text names something of a rig in use.
func busyRig(text string) bool {
	for s := range slot(maxSlots) {
		named := slices.ContainsFunc(append(s.bridges(), s.dir(), s.cgroup(), s.table()), func(name string) bool {
			_, rest, found := strings.Cut(text, name)
			return found && (rest == "" || strings.ContainsAny(rest[:1], "/\n: "))
		})
		if (named || strings.Contains(text, leadsTo+s.addresses())) && s.claimed() {
			return true
		}
	}
	return false
}

// foreign reports whether a new cgroup lies in a tree that existed before and that tests do not
// use: its owner keeps changing it.
func foreign(path string, before []string) bool {
	for _, root := range cgroupRoots() {
		rest, ok := strings.CutPrefix(path, root+"/")
		if !ok {
			continue
		}
		top, _, _ := strings.Cut(rest, "/")
		ours := strings.HasPrefix(top, "nodal") || strings.HasPrefix(top, "kubepods") || top == "k8s.io"
		return !ours && slices.Contains(before, filepath.Join(root, top))
	}
	return false
}
