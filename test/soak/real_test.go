package soak

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nodal/host/runtime"
	"nodal/test/chance"
	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/rig"
)

func TestNothingGrowsOnTheNodesOwnRuntime(t *testing.T) {
	claim.Shows(t, "Restarts and faults",
		"pods of all kinds come and go on the node's own containerd while it, the agent and shims are killed: no open file, goroutine, memory, mount, cgroup, network interface, firewall rule, process or file stays",
	)
	rig.Require(t)
	s := &soak{t: t, rand: seeded(t), words: shell, crew: 8, figures: append(ofAgent(bound{4, 100}), inKernel()...)}
	containerd := func(s *soak) int { return s.processes("containerd")[0] }
	s.figures = append(s.figures, ofProcess("containerd", containerd, bound{4, 40}, bound{4, 24})...)
	s.figures = append(s.figures, onDisk(bound{100, 300}, func(s *soak) []string {
		return []string{s.d.Dir, s.d.PodLogs, runtime.DefaultStateDir(s.d.Dir), "/var/lib/cni"}
	})...)
	s.d = daemon.StartAlone(t, frugal...)
	s.d.Import("busybox")
	s.harms = []func(){s.killShim}
	s.kills = []func(){s.killAgent, s.killContainerd}
	s.play(chance.Number(t, "NODAL_SOAK_REAL", 72))
	if leaks := s.judge(); len(leaks) > 0 {
		t.Errorf("these grow with the number of pods: %q", leaks)
	}
}

// killContainerd kills the node's containerd; the agent starts the next one.
func (s *soak) killContainerd() {
	for _, pid := range s.processes("containerd") {
		s.kill(pid)
	}
}

// killShim kills the shim of one pod.
func (s *soak) killShim() {
	if shims := s.processes("containerd-shim-runc-v2"); len(shims) > 0 {
		s.kill(shims[s.rand.IntN(len(shims))])
	}
}

func (s *soak) kill(pid int) {
	if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		s.t.Error(err)
	}
}

// processes returns the processes of the node's own runtime that run a program of this name, or any if it is empty.
func (s *soak) processes(program string) (found []int) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err != nil {
			continue // it has ended
		}
		path, _, _ := strings.Cut(string(text), "\x00")
		ours := strings.Contains(string(text), s.d.Dir+"/") || strings.Contains(string(text), runtime.ID(s.d.Dir))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line))); err == nil && ours && (program == "" || filepath.Base(path) == program) {
			found = append(found, pid)
		}
	}
	return found
}
