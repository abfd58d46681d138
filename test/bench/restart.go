package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"
)

const pollRestart = 10 * time.Millisecond

// restart stops and kills the agents while pods run, and starts them again.
func (b *suite) restart(ctx context.Context) error {
	pods := map[*column][]pod{}
	err := b.eachAgent(func(c *column) error {
		pods[c] = b.newPods(c, b.sizes.restart)
		_, err := c.run(ctx, pods[c]...)
		return err
	})
	if err != nil {
		return err
	}
	for _, way := range []struct {
		name   string
		signal syscall.Signal
	}{{"SIGTERM", syscall.SIGTERM}, {"kill -9", syscall.SIGKILL}} {
		if err := b.restartBy(ctx, way.name, way.signal, pods); err != nil {
			return err
		}
	}
	return b.eachAgent(func(c *column) error { return c.clear(ctx, pods[c]...) })
}

func (b *suite) restartBy(ctx context.Context, name string, signal syscall.Signal, pods map[*column][]pod) error {
	answers, ready := samples{}, samples{}
	restarted := map[string]float64{}
	for range b.sizes.repeats {
		err := b.eachAgent(func(c *column) error {
			before, err := c.truth.running(ctx, time.Time{}, pods[c])
			if err != nil {
				return err
			}
			if err := c.restart(ctx, signal, len(pods[c]), answers, ready); err != nil {
				return err
			}
			if err := pause(ctx, b.sizes.settle/3); err != nil {
				return err
			}
			after, err := c.truth.running(ctx, time.Time{}, pods[c])
			restarted[c.name] += float64(missing(before, after))
			return err
		})
		if err != nil {
			return err
		}
	}
	what := fmt.Sprintf("%d pods run, agent ended by %s: start to ", b.sizes.restart, name)
	b.add(what+"API answers", "ms", answers.p50(), atMost(300, "ms"))
	b.add(what+"all Ready", "ms", ready.p50(), atMost(1000, "ms"))
	b.add(what+"end, containers restarted", "", restarted, atMost(0, ""))
	return nil
}

// restart ends the agent, starts it, and waits until all its pods are ready.
func (c *column) restart(ctx context.Context, signal syscall.Signal, pods int, answers, ready samples) error {
	// Pods must be ready before the restart, or "ready again" would mean nothing.
	if err := c.awaitReady(ctx, pods, func() {}); err != nil {
		return err
	}
	if err := c.process.Stop(signal, stopTimeout); err != nil {
		return err
	}
	began := time.Now()
	if err := c.process.Start(); err != nil {
		return err
	}
	answered := false
	err := c.awaitReady(ctx, pods, func() {
		if !answered {
			answered = true
			answers.add(c.name, time.Since(began))
		}
	})
	ready.add(c.name, time.Since(began))
	return err
}

// awaitReady waits for a number of ready pods and calls answered after each answer.
func (c *column) awaitReady(ctx context.Context, pods int, answered func()) error {
	var count int
	err := poll(ctx, pollRestart, func() (bool, error) {
		if err := c.process.Alive(); err != nil {
			return false, err
		}
		n, err := c.web.readyPods(ctx)
		if err != nil {
			return false, nil // the port is still closed
		}
		answered()
		count = n
		return n >= pods, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %d ready pods, the last answer showed %d: %w", pods, count, err)
	}
	return nil
}

// missing counts the items of before that after lacks.
func missing(before, after []string) int {
	lost := 0
	for _, id := range before {
		if !slices.Contains(after, id) {
			lost++
		}
	}
	return lost
}
