package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/plane"
)

// cluster is the example node in a cluster of its own.
type cluster struct {
	example
	parts string // directory of the control plane's programs
}

// stayUp runs the cluster until the context ends, then removes it.
func (c cluster) stayUp(ctx context.Context) (err error) {
	if err := c.sweep(ctx); err != nil {
		return err
	}
	p, err := c.startPlane(ctx)
	defer func() {
		p.Stop()
		c.say("")
		err = errors.Join(err, c.sweep(context.WithoutCancel(ctx)))
	}()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, p.LogTails())
	}
	a, err := c.join(ctx, p)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, a.LogTail())
	}
	c.say("starting metrics-server ...")
	if err := p.StartMetrics(ctx, freeFrom(4443), a.CA()); err != nil {
		return fmt.Errorf("start metrics-server: %w\n%s", err, p.LogTails())
	}
	if err := c.guide(p); err != nil {
		return err
	}
	return a.Stay(ctx)
}

// sweep removes the node, also that of a cluster which was killed.
func (c cluster) sweep(ctx context.Context) error {
	if _, err := os.Stat(c.dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return c.clean(ctx)
}

// startPlane starts the control plane and returns when the API server answers. Even after an error
// there is a plane to stop.
func (c cluster) startPlane(ctx context.Context) (*plane.Plane, error) {
	dir := filepath.Join(c.dir, "plane")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return &plane.Plane{}, fmt.Errorf("make the control plane's directory: %w", err)
	}
	c.say("starting etcd and the API server ...")
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p, err := plane.Start(ctx, plane.Config{
		Dir: dir, Parts: c.parts, Ports: agent.Ports{Secure: freeFrom(6443), Healthz: freeFrom(2379), ReadOnly: freeFrom(2380)},
	})
	if err != nil {
		return p, err
	}
	c.say("starting the scheduler and the controllers ...")
	return p, p.StartControllers()
}

// join starts the node and returns when the cluster can schedule pods onto it.
func (c cluster) join(ctx context.Context, p *plane.Plane) (*agent.Agent, error) {
	way, err := p.Kubeconfig(plane.Node)
	if err != nil {
		return &agent.Agent{}, err
	}
	a, err := c.startNode(ctx, "--hostname-override", string(plane.Node), "--kubeconfig", way, "--client-ca-file", p.ClientCA(), "--address", "0.0.0.0",
		"--eviction-hard", "nodefs.available<1%") // a node with disk pressure gets no pods
	if err != nil {
		return a, err
	}
	c.say("joining the cluster ...")
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := takesPods(ctx, p)
		if err == nil {
			return a, nil
		}
		select {
		case <-ctx.Done():
			return a, fmt.Errorf("wait for the node to be ready: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// takesPods returns why the scheduler gives the node no pods yet, or nil.
func takesPods(ctx context.Context, p *plane.Plane) error {
	client, err := p.Client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	answer, err := p.Get(ctx, client, "/api/v1/nodes/"+string(plane.Node))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var node corev1.Node
	if err := json.NewDecoder(answer.Body).Decode(&node); err != nil {
		return fmt.Errorf("read the node: %w", err)
	}
	if len(node.Spec.Taints) > 0 {
		return fmt.Errorf("the node is tainted: %v", node.Spec.Taints)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("the API server says %s to GET of the node, which is not ready", answer.Status)
}

// guide prints how to reach the cluster.
func (c cluster) guide(p *plane.Plane) error {
	admin, err := p.Kubeconfig(plane.Admin)
	if err != nil {
		return err
	}
	c.say(`
The cluster is up, and its node is ready. In another terminal, in this directory:

  export KUBECONFIG=%[1]s
  alias kubectl=%[2]s
  kubectl get nodes
  kubectl apply -f %[3]s
  kubectl exec web -- cat /tmp/index.html
  kubectl top pods          (half a minute after they have started)

  log of the kubelet       %[4]s
  logs of the control plane %[5]s

Ctrl-C removes all of it.`, admin, p.Program("kubectl"), manifest, filepath.Join(c.dir, "agent.log"), filepath.Join(p.Dir, "*.log"))
	return nil
}
