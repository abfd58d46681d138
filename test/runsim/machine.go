package main

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"nodal/sim/cri"
)

// talk is the interval between the lines that a container prints.
const talk = 2 * time.Second

// machine is the simulated runtime.
type machine struct {
	endpoint string
	server   *cri.Server
	served   chan error
	quiet    chan struct{} // closed to end the output
	work     sync.WaitGroup
}

func startMachine(socket string) (*machine, error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen for the kubelet: %w", err)
	}
	m := &machine{endpoint: "unix://" + socket, served: make(chan error, 1), quiet: make(chan struct{})}
	m.server = cri.NewServer(cri.Config{Images: images(), PullAny: true, WriteLogs: true, Load: load, Exec: m.exec})
	go func() { m.served <- m.server.Serve(listener) }()
	m.work.Go(m.chatter)
	return m, nil
}

func (m *machine) stop() error {
	close(m.quiet)
	m.work.Wait()
	m.server.Stop()
	return <-m.served
}

// images returns the images on the machine, and those whose pull takes a while. Every other
// reference can be pulled at once.
func images() []cri.Image {
	return []cri.Image{
		{Ref: "nodal.test/busybox:1", Size: 2 << 20, Local: true},
		{Ref: "nodal.test/pause:1", Size: 300 << 10, Local: true, Pinned: true},
		{Ref: "nodal.test/unused:3", Size: 120 << 20, Local: true},
		{Ref: "nodal.test/slow:1", Size: 700 << 20, PullTime: 8 * time.Second},
		{Ref: "nodal.test/missing:1", PullError: errors.New("not found")},
	}
}

// chatter makes every running container print a line now and then, so that a followed log grows.
func (m *machine) chatter() {
	tick := time.NewTicker(talk)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-m.quiet:
			return
		case <-tick.C:
		}
		for _, c := range m.server.Snapshot().Containers {
			if c.Running() {
				// It fails only for a container that has just ended.
				_ = m.server.Print(c.ID, cri.Stdout, fmt.Sprintf("%s is busy, line %d", c.Name, n))
			}
		}
	}
}

// exec answers common commands. Commands that sim/cri understands, such as "exit 3", run there;
// every other command fails with a note that nothing runs here.
func (m *machine) exec(c cri.Container, command []string) (cri.ExecResult, bool) {
	switch command[0] {
	case "exit", "log", "err":
		return cri.ExecResult{}, false
	case "echo":
		return cri.ExecResult{Stdout: strings.Join(command[1:], " ") + "\n"}, true
	case "kill":
		if err := m.server.Kill(c.ID, 137); err != nil {
			return cri.ExecResult{Stderr: err.Error() + "\n", ExitCode: 1}, true
		}
		return cri.ExecResult{ExitCode: 137}, true
	}
	return cri.ExecResult{Stdout: fmt.Sprintf("pretended: %s\n", strings.Join(command, " "))}, true
}
