package podnet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// openPorts looks after the host ports of running pods. They are rules in a firewall that others change, too.
// Containerd makes them with a pod and does not look at them again.
type openPorts struct {
	looks  int               // that are due
	opened map[string]string // records of the pods whose ports the last look opened, by sandbox
}

// doubt makes two looks due: a pod that is made or removed during the first is settled at the second.
func (o *openPorts) doubt() { o.looks = 2 }

// reopenPorts opens closed ports if a look is due, and returns the number of pods. If a pod was removed while the
// look before opened its ports, they are closed.
func (n *Network) reopenPorts(ctx context.Context) (opened int, err error) {
	o := &n.ports
	if o.looks == 0 {
		return 0, nil
	}
	o.looks--
	var errs []error
	for id, file := range o.opened {
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			errs = append(errs, n.places.undoPort(ctx, id))
		}
	}
	o.opened = map[string]string{}
	files, err := filepath.Glob(filepath.Join(n.cache, "results", n.places.bridge()+"-*"))
	if err != nil {
		return 0, fmt.Errorf("look for host ports: %w", err)
	}
	for _, file := range files {
		if ctx.Err() != nil {
			break // the next agent looks
		}
		r, _ := n.places.readRecord(file)
		if _, err := os.Stat(r.namespace()); err != nil || len(r.Arguments.PortMappings) == 0 {
			continue // the pod is gone, or has no ports
		}
		made, err := n.places.openPort(context.WithoutCancel(ctx), r)
		if err != nil {
			errs = append(errs, fmt.Errorf("open the host ports of sandbox %s: %w", r.ContainerID, err))
		}
		if made {
			o.opened[r.ContainerID] = file
		}
	}
	return len(o.opened), errors.Join(errs...)
}

// portWait limits a call of the plugin for one pod.
const portWait = 10 * time.Second

// openPort opens a pod's ports unless they are open, and reports whether it did.
func (p Places) openPort(ctx context.Context, r record) (made bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, portWait)
	defer cancel()
	if p.askPortmap(ctx, "CHECK", r) == nil {
		return false, nil
	}
	err = errors.Join(p.askPortmap(ctx, "DEL", r), p.askPortmap(ctx, "ADD", r))
	return err == nil, err
}
