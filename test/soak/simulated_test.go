package soak

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/sim/cri"
	"nodal/test/agent"
	"nodal/test/chance"
	"nodal/test/daemon"
	"nodal/test/rig"
)

func TestNothingGrowsOnTheSimulatedRuntime(t *testing.T) {
	s := onSimulated(t)
	s.play(chance.Number(t, "NODAL_SOAK_SIMULATED", 480))
	if leaks := s.judge(); len(leaks) > 0 {
		t.Errorf("these grow with the number of pods: %q", leaks)
	}
}

// A client that never ends its watches makes the agent hold one more for each pod. The agent does what it is asked; the
// figures have to show it.
func TestALeakIsFound(t *testing.T) {
	s := onSimulated(t)
	s.kills = nil
	s.figures = slices.DeleteFunc(s.figures, func(f *figure) bool { return f.pid == nil })
	ctx, end := context.WithCancel(context.Background())
	defer end()
	for i := range 6 {
		s.play(s.lives + 1)
		for range s.crew {
			watch, err := nodev1.NewPodsServiceClient(s.d.Conn()).WatchPods(ctx, &nodev1.WatchPodsRequest{})
			if err == nil {
				_, err = watch.Recv()
			}
			if err != nil {
				t.Fatalf("watch in crowd %d: %v", i, err)
			}
		}
	}
	if leaks := s.judge(); !slices.Contains(leaks, "agent: goroutines") || slices.Contains(leaks, "agent: threads") {
		t.Errorf("found to grow: %q, want the goroutines and not the threads", leaks)
	}
}

// onSimulated returns a node on a simulated runtime, whose crash loses no container.
func onSimulated(t *testing.T) *soak {
	t.Helper()
	rig.Require(t) // volumes in memory are mounts
	dir := t.TempDir()
	t.Cleanup(func() { unmountBelow(t, dir) })
	socket := filepath.Join(dir, "cri.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	runtime := cri.NewServer(cri.Config{WriteLogs: true, Images: []cri.Image{{Ref: "nodal.test/busybox:1", Local: true}}})
	served := make(chan error, 1)
	go func() { served <- runtime.Serve(listener) }()
	t.Cleanup(func() {
		runtime.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	binary, err := agent.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &soak{t: t, rand: seeded(t), words: simulated, crew: 40, figures: ofAgent(bound{2, 12})}
	s.figures = append(s.figures, onDisk(bound{4, 20}, func(s *soak) []string { return []string{s.d.Dir, s.d.PodLogs} })...)
	s.d = daemon.StartWith(t, agent.Config{
		Dir: filepath.Join(dir, "node"), Binary: binary, Endpoint: "unix://" + socket, Flags: frugal,
		// A simulated container has no processes to limit.
		Settings: map[string]any{"cgroupsPerQOS": false, "enforceNodeAllocatable": []string{}},
	})
	s.harms = []func(){runtime.RestartRuntime}
	s.kills = []func(){s.killAgent}
	return s
}

// unmountBelow removes the volumes in memory that a test leaves if it fails while pods run.
func unmountBelow(t *testing.T, dir string) {
	for _, point := range slices.Backward(rig.Snapshot().Mounts) {
		if !strings.HasPrefix(point, dir+"/") {
			continue
		}
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}
}

func (s *soak) killAgent() {
	s.d.Kill()
	s.d.Launch()
}
