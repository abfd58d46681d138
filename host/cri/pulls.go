package cri

import (
	"context"
	"fmt"
	"sync"

	"nodal/node"
)

// pulls shares one pull of a reference among all who wait for it, and bounds
// how many run at a time. A pull ends when nobody waits for it any more.
type pulls struct {
	pull  func(context.Context, string) (pulledImage, error)
	slots chan struct{} // nil: no bound

	mu     sync.Mutex
	flight map[string]*pull
}

type pull struct {
	waiters int
	cancel  context.CancelFunc
	done    chan struct{}
	image   pulledImage
	err     error
}

func newPulls(parallel int, fetch func(context.Context, string) (pulledImage, error)) *pulls {
	p := &pulls{pull: fetch, flight: map[string]*pull{}}
	if parallel > 0 {
		p.slots = make(chan struct{}, parallel)
	}
	return p
}

// do waits for the pull of a reference, begun here or by somebody else.
func (p *pulls) do(ctx context.Context, ref string) (pulledImage, error) {
	flight := p.join(ref)
	defer p.leave(ref, flight)
	select {
	case <-flight.done:
		return flight.image, flight.err
	case <-ctx.Done():
		return pulledImage{}, fmt.Errorf("pull image %s: %w: %w", ref, ctx.Err(), node.ErrUnknown)
	}
}

func (p *pulls) join(ref string) *pull {
	p.mu.Lock()
	defer p.mu.Unlock()
	flight, ok := p.flight[ref]
	if !ok {
		// Its own context: the pull outlives the waiter that began it.
		ctx, cancel := context.WithCancel(context.Background())
		flight = &pull{cancel: cancel, done: make(chan struct{})}
		p.flight[ref] = flight
		go p.run(ctx, ref, flight)
	}
	flight.waiters++
	return flight
}

func (p *pulls) leave(ref string, flight *pull) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if flight.waiters--; flight.waiters == 0 {
		flight.cancel()
		p.forget(ref, flight)
	}
}

// forget lets the next who asks begin anew, and is not misled by who did already.
func (p *pulls) forget(ref string, flight *pull) {
	if p.flight[ref] == flight {
		delete(p.flight, ref)
	}
}

func (p *pulls) run(ctx context.Context, ref string, flight *pull) {
	if flight.err = p.acquire(ctx, ref); flight.err == nil {
		flight.image, flight.err = p.pull(ctx, ref)
		p.release()
	}
	p.mu.Lock()
	p.forget(ref, flight)
	p.mu.Unlock()
	close(flight.done)
}

func (p *pulls) acquire(ctx context.Context, ref string) error {
	if p.slots == nil {
		return nil
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait to pull image %s: %w", ref, ctx.Err())
	}
}

func (p *pulls) release() {
	if p.slots != nil {
		<-p.slots
	}
}
