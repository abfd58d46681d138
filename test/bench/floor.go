package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"nodal/test/rig"
)

// podCalls are the calls of one pod's life, in their order.
var podCalls = []string{
	"RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer", "StopPodSandbox", "RemovePodSandbox",
}

// floor runs the same raw calls on the machine's containerd and on the node's own, in turn, and shows where the time
// of a pod goes.
func (b *suite) floor(ctx context.Context) error {
	machines, ours, err := b.floorColumns(ctx)
	if err != nil {
		return err
	}
	started := samples{}
	for range b.sizes.singles {
		for _, c := range []*column{machines, ours} {
			p := b.newPods(c, 1)[0]
			took, err := c.run(ctx, p)
			if err != nil {
				return err
			}
			started.add(c.name, took)
			if err := c.clear(ctx, p); err != nil {
				return err
			}
		}
	}
	b.add("one pod by raw calls: the machine's containerd (raw), the node's own (nodal)", "ms", started.p50(), timesRaw(0.4))
	for _, call := range podCalls {
		took := samples{}
		for _, c := range []*column{machines, ours} {
			took[c.name] = c.kubelet.(*raw).calls.of(call)
		}
		b.add("of this, "+call, "ms", took.p50(), aim{})
	}
	return nil
}

// floorColumns starts both containerds and runs a pod on each. Their calls are recorded from then on.
func (b *suite) floorColumns(ctx context.Context) (machines, ours *column, err error) {
	machines, ours = newRaw(b.t), newRaw(b.t, rig.Bundle(b.binaries.bundle))
	ours.name = nodalColumn
	for _, c := range []*column{machines, ours} {
		if err := b.warmUp(ctx, c); err != nil {
			return nil, nil, fmt.Errorf("warm up the containerd of column %s: %w", c.name, err)
		}
		c.kubelet.(*raw).calls = &callTimes{}
	}
	return machines, ours, nil
}

// callTimes records how long calls take. A nil one records nothing.
type callTimes struct {
	mu   sync.Mutex
	took map[string][]time.Duration
}

// begin begins a call. The function that it returns ends it.
func (c *callTimes) begin(call string) (end func()) {
	if c == nil {
		return func() {}
	}
	began := time.Now()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.took == nil {
			c.took = map[string][]time.Duration{}
		}
		c.took[call] = append(c.took[call], time.Since(began))
	}
}

func (c *callTimes) of(call string) []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.took[call]
}
