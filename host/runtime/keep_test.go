package runtime

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"
)

func TestNetworkIsKeptOnlyWhileTheNodeIsOurs(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(*Runtime) error
		want []bool
	}{
		{"the lock is held", func(*Runtime) error { return nil }, []bool{true, true}},
		{"the runtime was closed", func(r *Runtime) error { return giveBack(r.lock) }, []bool{false, false}},
		{"the node is cleaned", func(r *Runtime) error { return os.RemoveAll(r.layout.root) }, []bool{false, false}},
		{"another agent has made the node anew", func(r *Runtime) error {
			next, err := takeLock(r.layout.lock() + ".next")
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = giveBack(next) })
			return os.Rename(next.Name(), r.layout.lock())
		}, []bool{false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, events := newFake(t)
			r.daemon = &daemon{done: make(chan struct{})}
			var err error
			if r.lock, err = takeLock(r.layout.lock()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.lock.Close() })
			if err := c.lose(r); err != nil {
				t.Fatal(err)
			}
			ticks(r, 2)
			if got := r.config.Network.(*fakeNetwork).looked; !slices.Equal(got[:2], c.want) {
				t.Errorf("at the looks the node was ours: got %v, want %v", got, c.want)
			}
			if got, want := len(events) > 0, c.want[0]; got != want {
				t.Errorf("events were told: got %t, want %t", got, want)
			}
		})
	}
}

// ticks has the supervisor look at least some times, and returns when it has.
func ticks(r *Runtime, times int) {
	ctx, cancel := context.WithCancel(context.Background())
	tick := make(chan time.Time)
	go func() {
		for range times + 1 { // the last tick is taken after the looks of the others
			tick <- time.Time{}
		}
		cancel()
	}()
	r.wait(ctx, tick, nil)
}

func TestNetworkIsKeptAtOnceWhenOthersRemoveAPartOfIt(t *testing.T) {
	r, events := newFake(t)
	r.daemon = &daemon{done: make(chan struct{})}
	var err error
	if r.lock, err = takeLock(r.layout.lock()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.lock.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	gone, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		r.wait(ctx, nil, gone) // no tick ever comes
	}()
	gone <- struct{}{}
	if e := <-events; e.Reason != "Kept" {
		t.Errorf("got %+v, want that the network was kept", e)
	}
	cancel()
	<-ended
}
