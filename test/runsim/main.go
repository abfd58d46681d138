// Command runsim is the example node behind `make run-sim`: the real kubelet on a simulated
// runtime. It needs no root, no containers and no installation, for work on the API or on the
// dashboard.
//
//	main.go      starts the parts and removes them
//	machine.go   the simulated runtime, its images and the behaviour of its containers
//	load.go      their usage
//	guide.go     what the user reads
//	pods.yaml    the example pods, some of them in trouble
//
// All files lie in one temporary directory. Containers follow their commands as package sim/cri
// defines.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"nodal/test/agent"
)

func main() {
	once := flag.Bool("once", false, "check that the node works, then remove it")
	kubelet := flag.String("kubelet", "bin/kubelet", "`path` of the binary to run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	stay := func(ctx context.Context, a *agent.Agent) error { return a.Stay(ctx) }
	if *once {
		stay = func(context.Context, *agent.Agent) error { return nil }
	}
	if err := run(ctx, *kubelet, os.Stdout, stay); err != nil {
		fmt.Fprintln(os.Stderr, "run-sim:", err)
		os.Exit(1)
	}
}

// run runs the example node until stay returns.
func run(ctx context.Context, kubelet string, out io.Writer, stay func(context.Context, *agent.Agent) error) (err error) {
	// Short: a unix address has 108 bytes.
	dir, err := os.MkdirTemp("", "nodal-sim-")
	if err != nil {
		return fmt.Errorf("make a directory for the node: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	m, err := startMachine(filepath.Join(dir, "cri.sock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.stop()) }()
	ports, claim, err := agent.ClaimPorts()
	if err != nil {
		return err
	}
	defer claim.Close()
	a := agent.New(agent.Config{
		Binary: kubelet, Dir: filepath.Join(dir, "node"), Socket: filepath.Join(dir, "node.sock"),
		Endpoint: m.endpoint, Ports: ports,
		// A simulated container has no processes to limit.
		Settings: map[string]any{"cgroupsPerQOS": false, "enforceNodeAllocatable": []string{}},
	})
	if err := a.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Stop()) }()
	if err := startExamples(ctx, a); err != nil {
		return err
	}
	page, err := a.Invite(ctx)
	if err != nil {
		return err
	}
	fmt.Fprint(out, guide(a, page))
	return stay(ctx, a)
}

func startExamples(ctx context.Context, a *agent.Agent) error {
	conn, err := a.Dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	return applyExamples(ctx, conn)
}
