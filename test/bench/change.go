package main

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// change calls do for a fresh pod, n times a column, and collects how long each change took.
func (b *suite) change(ctx context.Context, n int, do func(*column, pod) (time.Duration, error)) (samples, error) {
	took := samples{}
	for i := range n {
		err := b.each(func(c *column) error {
			if i >= c.samplesOf(n) {
				return nil
			}
			p := b.newPods(c, 1)[0]
			if _, err := c.run(ctx, p); err != nil {
				return err
			}
			elapsed, err := do(c, p)
			if err != nil {
				return err
			}
			took.add(c.name, elapsed)
			return c.clear(ctx, p)
		})
		if err != nil {
			return nil, err
		}
	}
	return took, nil
}

// kill ends a container's process behind the kubelet's back. A first crash has no back-off.
func (b *suite) kill(ctx context.Context) error {
	took, err := b.change(ctx, b.sizes.changes, func(c *column, p pod) (time.Duration, error) {
		_, pid, err := c.truth.container(ctx, p)
		if err != nil {
			return 0, err
		}
		began := time.Now()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return 0, fmt.Errorf("kill the process of pod %s: %w", p.name, err)
		}
		if err := c.Killed(ctx, p); err != nil {
			return 0, err
		}
		started, err := c.truth.started(ctx, began, p)
		return started.Sub(began), err
	})
	if err != nil {
		return err
	}
	b.add("container killed to its replacement started", "ms", took.p50(), overRaw(100))
	return nil
}

// edit changes the image of a running pod.
func (b *suite) edit(ctx context.Context) error {
	took, err := b.change(ctx, b.sizes.changes, func(c *column, p pod) (time.Duration, error) {
		p.image = c.rt.Image("probe2")
		began := time.Now()
		if err := c.Edit(ctx, p); err != nil {
			return 0, err
		}
		started, err := c.truth.started(ctx, began, p)
		return started.Sub(began), err
	})
	if err != nil {
		return err
	}
	b.add("image edited to the new version started", "ms", took.p50(), aim{})
	return nil
}

// delete deletes pods and waits until the runtime has nothing of them.
func (b *suite) delete(ctx context.Context) error {
	took, err := b.change(ctx, b.sizes.changes, func(c *column, p pod) (time.Duration, error) {
		began := time.Now()
		if err := c.Delete(ctx, p); err != nil {
			return 0, err
		}
		err := c.truth.gone(ctx, p)
		return time.Since(began), err
	})
	if err != nil {
		return err
	}
	b.add("pod deleted to nothing left in the runtime", "ms", took.p50(), aim{})
	return nil
}
