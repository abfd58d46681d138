// Command runsim is the example node behind `make run-sim`: the real kubelet on
// a runtime that only pretends. No root, no containers and nothing installed are
// needed to work on the API or on what shows it.
//
//	main.go      brings the parts up and takes them away
//	machine.go   the pretended runtime, its images and what its containers do
//	load.go      what they use
//	guide.go     what the user is told
//	pods.yaml    the example pods, a few of them with trouble
//
// Everything lies in one temporary directory. Containers do what package sim/cri
// reads in their commands.
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
	once := flag.Bool("once", false, "show that the node works, then take it away")
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

// run has the example node up for as long as stay takes.
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
		// What is simulated has no processes to hold to limits.
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
