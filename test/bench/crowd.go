package main

import (
	"context"
	"fmt"
	"net/http"
	"syscall"
	"time"
)

// crowd measures idle agents with more and more pods. All agents idle at the same time. They
// restart first: an empty node must not pay for the heap that other sections left.
func (b *suite) crowd(ctx context.Context) error {
	err := b.eachAgent(func(c *column) error { return c.restart(ctx, syscall.SIGTERM, 0, samples{}, samples{}) })
	if err != nil {
		return err
	}
	pods := map[*column][]pod{}
	for _, n := range b.sizes.crowds {
		if err := b.gather(ctx, pods, n); err != nil {
			return err
		}
		if err := b.idle(ctx, n); err != nil {
			return err
		}
		if n > 0 {
			if err := b.getPods(ctx, n); err != nil {
				return err
			}
		}
	}
	return b.eachAgent(func(c *column) error { return c.clear(ctx, pods[c]...) })
}

// gather brings each agent up to n pods.
func (b *suite) gather(ctx context.Context, pods map[*column][]pod, n int) error {
	return b.eachAgent(func(c *column) error {
		more := b.newPods(c, n-len(pods[c]))
		pods[c] = append(pods[c], more...)
		if len(more) == 0 {
			return nil
		}
		if _, err := c.run(ctx, more...); err != nil {
			return err
		}
		return c.awaitReady(ctx, n, func() {})
	})
}

// idle measures a quiet period of all agents and their runtimes.
func (b *suite) idle(ctx context.Context, n int) error {
	if err := pause(ctx, b.sizes.settle); err != nil {
		return err
	}
	own, runtime := newUsage(), newUsage()
	look := func(c *column) error {
		if err := own.look(c.name, c.process.Pid()); err != nil {
			return err
		}
		return runtime.look(c.name, c.rt.Pid)
	}
	if err := b.eachAgent(look); err != nil {
		return err
	}
	if err := pause(ctx, b.sizes.idle); err != nil {
		return err
	}
	if err := b.eachAgent(look); err != nil {
		return err
	}
	resident, anonymous := map[string]float64{}, map[string]float64{}
	err := b.eachAgent(func(c *column) error {
		var err error
		resident[c.name], anonymous[c.name], err = memory(c.process.Pid())
		return err
	})
	if err != nil {
		return err
	}
	cpuAim, memoryAim := aim{}, aim{}
	switch n {
	case 0:
		memoryAim = atMost(40, "MiB")
	case b.most():
		cpuAim, memoryAim = atMost(1, "%"), timesPeer(0.5)
	}
	what := fmt.Sprintf("%d idle pods: ", n)
	b.add(what+"CPU of the agent", "% of a core", own.share, cpuAim)
	b.add(what+"CPU of its containerd", "% of a core", runtime.share, aim{})
	b.add(what+"resident memory", "MiB", resident, memoryAim)
	b.add(crowdMemory(n), "MiB", anonymous, aim{})
	return nil
}

func crowdMemory(pods int) string { return fmt.Sprintf("%d idle pods: anonymous memory", pods) }

// usage measures the share of a core that processes use between two readings.
type usage struct {
	used  map[string]time.Duration
	at    map[string]time.Time
	share map[string]float64 // in percent
}

func newUsage() *usage {
	return &usage{used: map[string]time.Duration{}, at: map[string]time.Time{}, share: map[string]float64{}}
}

func (u *usage) look(column string, pid int) error {
	used, err := cpuTime(pid)
	if err != nil {
		return err
	}
	now := time.Now()
	if before, ok := u.at[column]; ok {
		u.share[column] = 100 * float64(used-u.used[column]) / float64(now.Sub(before))
	}
	u.used[column], u.at[column] = used, now
	return nil
}

// getPods reads lists of pods again and again over one connection.
func (b *suite) getPods(ctx context.Context, n int) error {
	for _, r := range []reads{{path: "/pods"}, {path: "/v1/pods", peers: "/pods"}} {
		r.times = b.sizes.requests
		if err := b.read(ctx, fmt.Sprintf("GET %s of %d pods", r.path, n), r); err != nil {
			return err
		}
	}
	return nil
}

// reads describes repeated reads of one path.
type reads struct {
	path        string
	peers       string // the peer's path, if it differs
	times       int
	apart       time.Duration
	aim, cpuAim aim
}

// read measures how long answers take, and what CPU time they cost the agents.
func (b *suite) read(ctx context.Context, what string, r reads) error {
	took, cost := samples{}, map[string]float64{}
	err := b.eachAgent(func(c *column) error {
		used, path := time.Duration(0), r.path
		if c.name == peerColumn && r.peers != "" {
			path = r.peers
		}
		for range r.times {
			if err := pause(ctx, r.apart); err != nil {
				return err
			}
			before, err := cpuTime(c.process.Pid())
			if err != nil {
				return err
			}
			began := time.Now()
			if _, err := c.web.drain(ctx, http.MethodGet, c.web.plain+path); err != nil {
				return err
			}
			took.add(c.name, time.Since(began))
			after, err := cpuTime(c.process.Pid())
			if err != nil {
				return err
			}
			used += after - before
		}
		cost[c.name] = milliseconds(used) / float64(r.times)
		return nil
	})
	if err != nil {
		return err
	}
	b.add(what, "ms", took.p50(), r.aim)
	b.add(what+": CPU of the agent", "ms", cost, r.cpuAim)
	return nil
}
