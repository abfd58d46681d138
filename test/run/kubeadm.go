package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"nodal/test/kubeadm"
)

// twoNodes is a cluster of kubeadm's on two machines.
type twoNodes struct {
	example
	parts string // directory of the control plane's programs and kubeadm
}

// stayUp runs the cluster until the context ends, then removes it.
func (n twoNodes) stayUp(ctx context.Context) (err error) {
	kubelet, err := filepath.Abs(n.kubelet)
	if err != nil {
		return fmt.Errorf("find the kubelet: %w", err)
	}
	if err := os.RemoveAll(n.dir); err != nil { // the disks of a cluster that was killed
		return fmt.Errorf("make room for the machines: %w", err)
	}
	n.say("starting two machines ...")
	c, err := kubeadm.Start(ctx, kubeadm.Config{Dir: n.dir, Kubelet: kubelet, Parts: n.parts})
	defer func() { err = errors.Join(err, c.Stop(), os.RemoveAll(n.dir)) }()
	if err != nil {
		return err
	}
	if err := n.bringUp(ctx, c); err != nil {
		return fmt.Errorf("%w\n%s", err, c.Logs())
	}
	n.guide(c)
	<-ctx.Done()
	n.say("\nremoving both machines ...")
	return nil
}

// bringUp has kubeadm make the cluster.
func (n twoNodes) bringUp(ctx context.Context, c *kubeadm.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	n.say("kubeadm init on the first, with images made of the control plane's programs ...")
	if err := c.Init(ctx); err != nil {
		return err
	}
	n.say("kubeadm join on the second ...")
	if err := c.Join(ctx); err != nil {
		return err
	}
	if out, err := c.Kubectl(ctx, "wait", "--for=condition=Ready", "nodes", "--all", "--timeout=2m").CombinedOutput(); err != nil {
		return fmt.Errorf("wait for the nodes: %w: %s", err, out)
	}
	return c.Route(ctx)
}

// guide prints how to reach the machines.
func (n twoNodes) guide(c *kubeadm.Cluster) {
	n.say(`
Both nodes are ready. In other terminals, for a shell on either machine:

  nsenter -a -t %[1]d
  nsenter -a -t %[2]d

On the first:

  export KUBECONFIG=/etc/kubernetes/admin.conf
  kubectl get nodes -o wide
  kubectl get pods -A -o wide

Both nodes have the image nodal.test/busybox:1. On the second, to take the node away:

  systemctl stop kubelet; kubelet clean; kubeadm reset

Ctrl-C removes both machines.`, c.First.Pid, c.Second.Pid)
}
