package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// openPorts looks after the host ports of running pods, which are rules in a firewall
// that others change, too. Containerd makes them with a pod and looks at them no more.
type openPorts struct {
	looks  int               // that are due
	opened map[string]string // records of pods whose ports it has opened, by the pods' ids
}

// doubt has it look twice: pods that come and go at the first look are those of the
// second.
func (p *openPorts) doubt() { p.looks = 2 }

// look opens what is closed, if a look is due, and says for how many pods. Ports that it
// opened for one that was just being taken down are closed.
func (p *openPorts) look(ctx context.Context, l layout, cache string) (opened int, err error) {
	if p.looks == 0 {
		return 0, nil
	}
	p.looks--
	var errs []error
	for id, file := range p.opened {
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			errs = append(errs, l.undoPort(ctx, id))
		}
	}
	p.opened = map[string]string{}
	files, err := filepath.Glob(filepath.Join(cache, "results", l.bridge()+"-*"))
	if err != nil {
		return 0, fmt.Errorf("look for host ports: %w", err)
	}
	for _, file := range files {
		if ctx.Err() != nil {
			break // the next agent looks
		}
		r, _ := l.readRecord(file)
		if _, err := os.Stat(r.namespace()); err != nil || len(r.Arguments.PortMappings) == 0 {
			continue // the pod is gone, or has none
		}
		made, err := l.openPort(context.WithoutCancel(ctx), r)
		if err != nil {
			errs = append(errs, fmt.Errorf("open the host ports of container %s: %w", r.ContainerID, err))
		}
		if made {
			p.opened[r.ContainerID] = file
		}
	}
	return len(p.opened), errors.Join(errs...)
}

// portWait is how long the plugin may take for one pod.
const portWait = 10 * time.Second

// openPort opens a pod's ports and reports that, unless they are open.
func (l layout) openPort(ctx context.Context, r record) (made bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, portWait)
	defer cancel()
	if l.askPortmap(ctx, "CHECK", r) == nil {
		return false, nil
	}
	err = errors.Join(l.askPortmap(ctx, "DEL", r), l.askPortmap(ctx, "ADD", r))
	return err == nil, err
}
