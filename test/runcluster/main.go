// Command runcluster is the cluster of one node behind `make cluster`: a control
// plane, and the kubelet that was just built with the container runtime that it
// brings along, which joins it. Ctrl-C takes all of it away.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/plane"
)

func main() {
	var c cluster
	flag.StringVar(&c.kubelet, "kubelet", "bin/kubelet", "`path` of the binary to run")
	flag.StringVar(&c.parts, "parts", ".cache/parts", "`directory` of the control plane's programs")
	flag.StringVar(&c.dir, "dir", "/var/lib/nodal-cluster", "`directory` of the cluster, which is made and removed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.stayUp(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// cluster is one of one node, in a directory of its own.
type cluster struct{ kubelet, parts, dir string }

const patience = 2 * time.Minute // for the node to be ready

// stayUp runs the cluster until the context ends.
func (c cluster) stayUp(ctx context.Context) (err error) {
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return fmt.Errorf("make the cluster's directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.dir)) }()
	p, err := c.startPlane(ctx)
	defer p.Stop()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, p.LogTails())
	}
	a, err := c.startNode(p)
	defer func() { err = errors.Join(err, c.clean(a)) }()
	if err != nil {
		return err
	}
	if err := c.awaitNode(ctx, p); err != nil {
		return fmt.Errorf("%w\n%s", err, a.LogTail())
	}
	admin, err := p.Kubeconfig(plane.AdminToken)
	if err != nil {
		return err
	}
	fmt.Printf("\nThe cluster is up, and its node is ready:\n\n  export KUBECONFIG=%s\n  %s get nodes,pods -A\n\nCtrl-C takes it all away.\n",
		admin, filepath.Join(c.parts, "kubectl"))
	code, err := a.Wait(ctx)
	if err == nil {
		return fmt.Errorf("the kubelet ended by itself with code %d:\n%s", code, a.LogTail())
	}
	fmt.Println("\ntaking everything away ...")
	return nil
}

func (c cluster) startPlane(ctx context.Context) (*plane.Plane, error) {
	parts, err := filepath.Abs(c.parts)
	if err != nil {
		return &plane.Plane{}, err
	}
	dir := filepath.Join(c.dir, "plane")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return &plane.Plane{}, err
	}
	fmt.Println("starting etcd and the API server ...")
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p, err := plane.Start(ctx, plane.Config{
		Dir: dir, Parts: parts, Ports: agent.Ports{Secure: freeFrom(6443), Healthz: freeFrom(2379), ReadOnly: freeFrom(2380)},
	})
	if err != nil {
		return p, err
	}
	fmt.Println("starting the scheduler and the controllers ...")
	return p, p.StartControllers()
}

func (c cluster) startNode(p *plane.Plane) (*agent.Agent, error) {
	fmt.Println("starting the kubelet, which starts its container runtime and joins ...")
	a := agent.New(agent.Config{
		Binary: c.kubelet, Dir: filepath.Join(c.dir, "node"), Ports: agent.Ports{Secure: freeFrom(10250), Healthz: freeFrom(10248)},
	})
	way, err := p.Kubeconfig(plane.NodeToken)
	if err != nil {
		return a, err
	}
	a.Flags = []string{"--hostname-override", "node-a", "--kubeconfig", way, "--client-ca-file", p.ClientCA(), "--address", "0.0.0.0"}
	if err := os.Mkdir(a.Dir, 0o755); err != nil {
		return a, err
	}
	return a, a.Start()
}

// clean takes the node away, and its pods with it.
func (c cluster) clean(a *agent.Agent) error {
	err := a.Stop()
	if out, err2 := exec.Command(c.kubelet, "clean", "--root-dir", a.Root()).CombinedOutput(); err2 != nil {
		err = errors.Join(err, fmt.Errorf("take the node away: %w\n%s", err2, out))
	}
	return err
}

// awaitNode waits until the cluster would give the node pods.
func (c cluster) awaitNode(ctx context.Context, p *plane.Plane) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !ready(ctx, p) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the node to be ready: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

func ready(ctx context.Context, p *plane.Plane) bool {
	client, err := p.Client()
	if err != nil {
		return false
	}
	defer client.CloseIdleConnections()
	answer, err := p.Get(ctx, client, "/api/v1/nodes/node-a")
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	var node corev1.Node
	if json.NewDecoder(answer.Body).Decode(&node) != nil || len(node.Spec.Taints) > 0 {
		return false
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// freeFrom is the first free port from one on. The last digit stays, so two
// searches never end at the same port.
func freeFrom(port int) int {
	for !agent.Free(port) {
		port += 10
	}
	return port
}
