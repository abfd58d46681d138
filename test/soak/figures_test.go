package soak

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/nftables"

	"nodal/test/rig"
)

// figure is something that must not grow with the number of pods that have lived.
type figure struct {
	name string
	bound
	read func(*soak) (float64, error)
	pid  func(*soak) int // of the process that it belongs to; nil for the machine

	points []point
}

// look reads the figure.
func (f *figure) look(s *soak) {
	s.t.Helper()
	value, err := f.read(s)
	if err != nil {
		s.t.Fatalf("read %s: %v", f.name, err)
	}
	p := point{lives: s.lives, value: value}
	if f.pid != nil {
		p.run = f.pid(s)
	}
	f.points = append(f.points, p)
}

const mebi = 1 << 20

// ofProcess returns the figures of a process that the kernel knows.
func ofProcess(name string, pid func(*soak) int, files, resident bound) []*figure {
	return []*figure{
		{name: name + ": open files", bound: files, pid: pid, read: func(s *soak) (float64, error) { return entries(pid(s), "fd") }},
		{name: name + ": threads", bound: bound{2, 16}, pid: pid, read: func(s *soak) (float64, error) { return entries(pid(s), "task") }},
		{name: name + ": resident MiB", bound: resident, pid: pid, read: func(s *soak) (float64, error) { return residentOf(pid(s)) }},
	}
}

// ofAgent returns the figures of the agent's process. It keeps some files of each pod's cgroup open until it next records
// what was used. Its resident memory follows the highest heap between two collections, which a busy moment sets: the first hundred
// pods of a process add 10 MiB. So that figure has more room than the heap, which is read right after a collection.
func ofAgent(files bound) []*figure {
	pid := func(s *soak) int { return s.d.Pid() }
	return append([]*figure{
		{name: "agent: heap MiB", bound: bound{0.25, 3}, pid: pid, read: func(s *soak) (float64, error) {
			// What a pool has kept goes with the second collection.
			if _, err := s.profile("heap?gc=1&debug=1", "# HeapAlloc ="); err != nil {
				return 0, err
			}
			bytes, err := s.profile("heap?gc=1&debug=1", "# HeapAlloc =")
			return bytes / mebi, err
		}},
		{name: "agent: goroutines", bound: bound{2, 12}, pid: pid, read: func(s *soak) (float64, error) {
			return s.profile("goroutine?debug=1", "goroutine profile: total")
		}},
	}, ofProcess("agent", pid, files, bound{1, 24})...)
}

// profile returns the number behind some words of a profile.
func (s *soak) profile(path, words string) (float64, error) {
	reply, err := s.d.HTTP().Get("http://node/debug/pprof/" + path)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), words)
	if !found {
		return 0, fmt.Errorf("no %q in /debug/pprof/%s: %s", words, path, reply.Status)
	}
	return strconv.ParseFloat(strings.Fields(rest)[0], 64)
}

func entries(pid int, dir string) (float64, error) {
	found, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), dir))
	return float64(len(found)), err
}

func residentOf(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), "VmRSS:")
	if !found {
		return 0, fmt.Errorf("process %d has ended", pid)
	}
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kib / 1024, err
}

// onDisk returns the figures of directories. What containerd removes goes a little later.
func onDisk(files bound, dirs func(*soak) []string) []*figure {
	sum := func(of func(path string, f fs.FileInfo) float64) func(*soak) (float64, error) {
		return func(s *soak) (total float64, err error) {
			for _, dir := range dirs(s) {
				err := filepath.Walk(dir, func(path string, info fs.FileInfo, err error) error {
					if err == nil {
						total += of(path, info)
					}
					return nil // a file that has just been removed
				})
				if err != nil {
					return 0, err
				}
			}
			return total, nil
		}
	}
	return []*figure{
		{name: "files and directories", bound: files, read: sum(func(path string, _ fs.FileInfo) float64 {
			if strings.Contains(path, "/.kept-") {
				return 0
			}
			return 1
		})},
		// Until the next look at the budget they add up: a fast machine has some hundred pods go meanwhile.
		{name: "files of deleted pods' logs", bound: bound{10, 2500}, read: sum(func(path string, _ fs.FileInfo) float64 {
			if strings.Contains(path, "/.kept-") {
				return 1
			}
			return 0
		})},
		{name: "disk MiB", bound: bound{0.5, 4}, read: sum(func(_ string, f fs.FileInfo) float64 { return float64(f.Size()) / mebi })},
		{name: "mounts", bound: bound{1, 1}, read: func(s *soak) (float64, error) {
			n := 0
			for _, point := range rig.Snapshot().Mounts {
				for _, dir := range dirs(s) {
					if strings.HasPrefix(point, dir+"/") {
						n++
					}
				}
			}
			return float64(n), nil
		}},
	}
}

// inKernel returns what the node's own runtime leaves in the kernel.
func inKernel() []*figure {
	count := func(of func(rig.Machine) []string) func(*soak) (float64, error) {
		return func(*soak) (float64, error) { return float64(len(of(rig.Snapshot()))), nil }
	}
	return []*figure{
		{name: "cgroups", bound: bound{4, 24}, read: count(func(m rig.Machine) []string { return m.Cgroups })},
		{name: "network interfaces", bound: bound{1, 1}, read: count(func(m rig.Machine) []string { return m.Links })},
		{name: "network namespaces", bound: bound{1, 1}, read: count(func(m rig.Machine) []string { return m.NetNS })},
		// The guard has six elements for each pod that was there when it was written last, of which there are eight at most.
		{name: "nftables rules and elements", bound: bound{1, 48}, read: func(*soak) (float64, error) { return nftRules() }},
		{name: "iptables rules", bound: bound{1, 4}, read: func(*soak) (float64, error) {
			text, err := exec.Command("iptables-save").Output()
			return float64(strings.Count(string(text), "\n")), err
		}},
		{name: "processes", bound: bound{1, 3}, read: func(s *soak) (float64, error) { return float64(len(s.processes(""))), nil }},
	}
}

// nftRules counts the rules of all tables, and the elements of their sets.
func nftRules() (n float64, err error) {
	conn, err := nftables.New()
	if err != nil {
		return 0, err
	}
	chains, err := conn.ListChains()
	if err != nil {
		return 0, err
	}
	for _, chain := range chains {
		rules, err := conn.GetRules(chain.Table, chain)
		if err != nil {
			return 0, err
		}
		n += float64(len(rules))
	}
	tables, err := conn.ListTables()
	if err != nil {
		return 0, err
	}
	for _, table := range tables {
		sets, err := conn.GetSets(table)
		if err != nil {
			return 0, err
		}
		for _, set := range sets {
			elements, err := conn.GetSetElements(set)
			if err != nil {
				return 0, err
			}
			n += float64(len(elements))
		}
	}
	return n, nil
}
