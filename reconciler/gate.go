package reconciler

import (
	"context"
	"slices"
	"sync"

	"nodal/node"
)

// gate bounds how many sandboxes and containers are made at once on the node: more than the machine can do side by side
// only delays each of them. The action that brings its pod closest to running goes first. So the first of many pods run
// early, instead of all of them late.
type gate struct {
	mu      sync.Mutex
	free    int
	waiting [mostUrgent + 1][]chan struct{}
}

// The natures that pass the gate, in the order of their urgency.
const leastUrgent, mostUrgent = node.MakesSandbox, node.StartsContainer

func newGate(width int) *gate { return &gate{free: width} }

// enter waits for a place. A caller that gets one has to call leave.
func (g *gate) enter(ctx context.Context, urgency node.Nature) error {
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	g.waiting[urgency] = append(g.waiting[urgency], turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		g.giveUp(urgency, turn)
		return ctx.Err()
	}
}

// giveUp leaves the queue, or passes on a place that came too late.
func (g *gate) giveUp(urgency node.Nature, turn chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting[urgency], turn); i >= 0 {
		g.waiting[urgency] = slices.Delete(g.waiting[urgency], i, i+1)
		return
	}
	g.pass()
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass()
}

// pass hands a place to the caller of the greatest urgency that has waited longest, or frees it.
func (g *gate) pass() {
	for urgency := mostUrgent; urgency >= leastUrgent; urgency-- {
		if queue := g.waiting[urgency]; len(queue) > 0 {
			g.waiting[urgency] = queue[1:]
			close(queue[0])
			return
		}
	}
	g.free++
}

// through calls do for an action. An action that makes something holds a place meanwhile.
func (g *gate) through(ctx context.Context, a node.Action, do func() (node.Result, error)) (node.Result, error) {
	nature := a.About().Nature
	if !nature.Makes() {
		return do()
	}
	if err := g.enter(ctx, nature); err != nil {
		return node.Result{}, err
	}
	defer g.leave()
	return do()
}
