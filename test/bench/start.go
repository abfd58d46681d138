package main

import (
	"context"
	"fmt"
	"time"

	nodev1 "nodal/api/gen/node/v1"
)

// start runs pods one by one. It measures the delay over raw calls, and the delay until a watching
// client knows.
func (b *suite) start(ctx context.Context) error {
	started, ready := samples{}, samples{}
	for range b.sizes.singles {
		if err := b.startEach(ctx, 0, started); err != nil {
			return err
		}
		if err := b.each(func(c *column) error { return b.startWatched(ctx, c, ready) }); err != nil {
			return err
		}
	}
	b.add("one pod: posted to started", "ms", started.p50(), overRaw(10))
	ready[rawColumn] = started[rawColumn]
	b.add("one pod: posted to Ready seen by a watcher (raw: started)", "ms", ready.p50(), aim{})
	return nil
}

// startEach runs a pod in each column, and adds the time until it has started.
func (b *suite) startEach(ctx context.Context, inits int, started samples) error {
	return b.each(func(c *column) error {
		p := b.newPods(c, 1)[0]
		p.inits = inits
		took, err := c.run(ctx, p)
		if err != nil {
			return err
		}
		started.add(c.name, took)
		return c.clear(ctx, p)
	})
}

// startWatched runs a pod while a client watches. Only our agent has watches.
func (b *suite) startWatched(ctx context.Context, c *column, ready samples) error {
	agent, ok := c.kubelet.(*nodal)
	if !ok {
		return nil
	}
	p := b.newPods(c, 1)[0]
	watching, stop := context.WithTimeout(ctx, patience)
	defer stop()
	watch, err := agent.pods.WatchPods(watching, &nodev1.WatchPodsRequest{})
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	began := time.Now()
	if err := c.Post(ctx, p); err != nil {
		return err
	}
	seen, err := awaitReady(watch, p)
	if err != nil {
		return err
	}
	ready.add(c.name, seen.Sub(began))
	return c.clear(ctx, p)
}

// initContainers runs pods with init containers that end at once.
func (b *suite) initContainers(ctx context.Context) error {
	for _, kind := range []struct {
		inits int
		what  string
	}{{1, "an init container"}, {3, "three init containers"}} {
		started := samples{}
		for range b.sizes.changes {
			if err := b.startEach(ctx, kind.inits, started); err != nil {
				return err
			}
		}
		b.add("pod with "+kind.what+": posted to started", "ms", started.p50(), aim{})
	}
	return nil
}
