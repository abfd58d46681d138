package cri

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nodal/node"
)

// registry is a slow one that counts.
type registry struct {
	mu                              sync.Mutex
	begun, running, most, cancelled int
}

func (r *registry) count(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

func (r *registry) pull(ctx context.Context, ref string) (pulledImage, error) {
	r.count(func() {
		r.begun++
		r.running++
		r.most = max(r.most, r.running)
	})
	defer r.count(func() { r.running-- })
	select {
	case <-time.After(time.Minute):
		return pulledImage{id: "id of " + ref}, nil
	case <-ctx.Done():
		r.count(func() { r.cancelled++ })
		return pulledImage{}, ctx.Err()
	}
}

// ask waits for a pull in the background.
func ask(ctx context.Context, p *pulls, ref string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := p.do(ctx, ref)
		done <- err
	}()
	synctest.Wait()
	return done
}

func TestPullOutlivesTheWaiterThatBeganIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{}
		p := newPulls(0, r.pull)
		ctx, cancel := context.WithCancel(t.Context())
		first, second := ask(ctx, p, "a"), ask(t.Context(), p, "a")
		cancel()
		if err := <-first; !errors.Is(err, node.ErrUnknown) || !errors.Is(err, context.Canceled) {
			t.Errorf("who left got %v, want an unknown outcome", err)
		}
		if err := <-second; err != nil || r.begun != 1 {
			t.Errorf("who stayed got %v after %d pulls, want the one pull", err, r.begun)
		}
		if err := <-ask(t.Context(), p, "a"); err != nil || r.begun != 2 {
			t.Errorf("who came later got %v after %d pulls, want a pull of its own", err, r.begun)
		}
	})
}

func TestPullEndsWhenNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{}
		p := newPulls(0, r.pull)
		ctx, cancel := context.WithCancel(t.Context())
		done := ask(ctx, p, "a")
		cancel()
		<-done
		if err := <-ask(t.Context(), p, "a"); err != nil || r.cancelled != 1 || r.begun != 2 {
			t.Errorf("got %v, %d cancelled of %d, want the second to succeed", err, r.cancelled, r.begun)
		}
		if len(p.flight) != 0 {
			t.Errorf("%d pulls are remembered, want none", len(p.flight))
		}
	})
}

func TestPullsAreBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{}
		p := newPulls(2, r.pull)
		var waiting []<-chan error
		for _, ref := range []string{"a", "b", "c", "d", "e"} {
			waiting = append(waiting, ask(t.Context(), p, ref))
		}
		ctx, cancel := context.WithCancel(t.Context())
		queued := ask(ctx, p, "f")
		cancel()
		<-queued
		for _, done := range waiting {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if r.begun != 5 || r.most != 2 {
			t.Errorf("%d pulls, %d at a time, want 5 and 2", r.begun, r.most)
		}
	})
}
