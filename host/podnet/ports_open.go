package podnet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// openPorts looks after the host ports of running pods. They are rules in a firewall that others change, too.
// Containerd makes them with a pod and does not look at them again. What is open stands in the firewall alone: each
// rule bears its sandbox and its address, so an agent that starts needs no record of what the last one did.
type openPorts struct {
	looks   int             // for closed ports, that are due
	unknown map[string]bool // sandboxes with rules that the runtime did not know at the last look
	told    map[string]bool // what the last look told of ports
}

// doubt makes two looks due: a pod that is made during the first is settled at the second.
func (o *openPorts) doubt() { o.looks = 2 }

// reopenPorts opens closed ports of ready sandboxes if a look is due, and returns the number of pods. A sandbox that
// is being taken down is not ready any more, and stays closed.
func (n *Network) reopenPorts(ctx context.Context, sandboxes Sandboxes) (opened int, err error) {
	if n.ports.looks == 0 {
		return 0, nil
	}
	ready, err := sandboxes(ctx)
	if err != nil {
		return 0, nil // the look stays due: the runtime is down, which others tell of
	}
	n.ports.looks--
	files, err := filepath.Glob(filepath.Join(n.cache, "results", n.places.bridge()+"-*"))
	if err != nil {
		return 0, fmt.Errorf("look for closed host ports: %w", err)
	}
	var made []record
	var errs []error
	for _, file := range files {
		if ctx.Err() != nil {
			break // the next agent looks
		}
		r, _ := n.places.readRecord(file)
		if !ready[r.ContainerID] || len(r.Arguments.PortMappings) == 0 {
			continue
		}
		opened, err := n.places.openPort(context.WithoutCancel(ctx), r)
		if err != nil {
			errs = append(errs, fmt.Errorf("open the host ports of sandbox %s: %w", r.ContainerID, err))
		}
		if opened {
			made = append(made, r)
		}
	}
	opened, err = n.closeStopped(context.WithoutCancel(ctx), made, sandboxes)
	return opened, errors.Join(append(errs, err)...)
}

// closeStopped closes the ports of those that were stopped while their ports were opened, and returns the number of
// the others. Containerd closes the ports of a sandbox after it is no longer ready: it closes those of all others.
func (n *Network) closeStopped(ctx context.Context, opened []record, sandboxes Sandboxes) (left int, err error) {
	if len(opened) == 0 {
		return 0, nil
	}
	ready, err := sandboxes(ctx)
	if err != nil {
		return len(opened), nil // the next look finds rules without a pod
	}
	var errs []error
	for _, r := range opened {
		if ready[r.ContainerID] {
			left++
			continue
		}
		errs = append(errs, n.places.undoPort(ctx, r.ContainerID))
	}
	return left, errors.Join(errs...)
}

// portWait limits a call of the plugin for one pod.
const portWait = 10 * time.Second

// openPort opens a pod's ports unless they are open, and reports whether it did.
func (p Places) openPort(ctx context.Context, r record) (made bool, err error) {
	check, cancel := context.WithTimeout(ctx, portWait)
	defer cancel()
	if p.askPortmap(check, "CHECK", r) == nil {
		return false, nil
	}
	err = p.renewPort(ctx, r)
	return err == nil, err
}
