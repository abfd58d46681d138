package image

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// registry stands for a slow registry that counts.
type registry struct {
	mu                              sync.Mutex
	begun, running, most, cancelled int
}

func (r *registry) count(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

func (r *registry) pull(ctx context.Context) (node.LocalImage, error) {
	r.count(func() {
		r.begun++
		r.running++
		r.most = max(r.most, r.running)
	})
	defer r.count(func() { r.running-- })
	select {
	case <-time.After(time.Minute):
		return node.LocalImage{ID: "id"}, nil
	case <-ctx.Done():
		r.count(func() { r.cancelled++ })
		return node.LocalImage{}, ctx.Err()
	}
}

// ask waits for a pull in the background.
func (r *registry) ask(ctx context.Context, f *flights, ref string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := f.do(ctx, order{ref: ref}, node.PullWaiter{}, r.pull)
		done <- err
	}()
	synctest.Wait()
	return done
}

func TestPullOutlivesTheWaiterThatBeganIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f := &registry{}, newFlights(0, 0, 0)
		ctx, cancel := context.WithCancel(t.Context())
		first, second := r.ask(ctx, f, "a"), r.ask(t.Context(), f, "a")
		cancel()
		if err := <-first; !errors.Is(err, node.ErrUnknown) || !errors.Is(err, context.Canceled) {
			t.Errorf("who left got %v, want an unknown outcome", err)
		}
		if err := <-second; err != nil || r.begun != 1 {
			t.Errorf("who stayed got %v after %d pulls, want the one pull", err, r.begun)
		}
		if err := <-r.ask(t.Context(), f, "a"); err != nil || r.begun != 2 {
			t.Errorf("who came later got %v after %d pulls, want a pull of its own", err, r.begun)
		}
	})
}

func TestPullsAreListedWithTheirWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		m.pull = takes(time.Minute)
		p := New(Config{Runtime: m, Parallel: 1, Log: slog.New(slog.DiscardHandler), Tell: (&owner{}).tell})
		began := time.Now()
		var all sync.WaitGroup
		for uid, ref := range map[string]string{"1": "a", "2": "a"} {
			all.Go(func() { _, _ = p.Ensure(t.Context(), testPod(uid), need(ref, corev1.PullAlways)) })
		}
		time.Sleep(time.Second)
		all.Go(func() { _, _ = p.Ensure(t.Context(), testPod("3"), node.EnsureImage{Volume: "v", Ref: "b"}) })
		synctest.Wait()
		got := p.Pulls()
		if len(got) != 2 || got[0].Ref != "a:latest" || len(got[0].Waiters) != 2 || !got[0].Began.Equal(began) {
			t.Fatalf("got %+v, want the first with the two that wait", got)
		}
		third := node.PullWaiter{Pod: testPod("3").Key(), UID: "3", Volume: "v"}
		if b := got[1]; !b.Asked.Equal(began.Add(time.Second)) || !b.Began.IsZero() || !slices.Equal(b.Waiters, []node.PullWaiter{third}) {
			t.Errorf("got %+v, want %+v to wait for its turn", b, third)
		}
		all.Wait()
		if got := p.Pulls(); len(got) != 0 {
			t.Errorf("got %+v after the end, want none", got)
		}
	})
}

func TestPullWithoutWaitersEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f := &registry{}, newFlights(0, 0, 0)
		ctx, cancel := context.WithCancel(t.Context())
		done := r.ask(ctx, f, "a")
		cancel()
		<-done
		if err := <-r.ask(t.Context(), f, "a"); err != nil || r.cancelled != 1 || r.begun != 2 {
			t.Errorf("got %v, %d cancelled of %d, want the second to succeed", err, r.cancelled, r.begun)
		}
		if len(f.byKey) != 0 {
			t.Errorf("%d pulls are remembered, want none", len(f.byKey))
		}
	})
}

func TestPullsAreBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f := &registry{}, newFlights(2, 0, 0)
		var waiting []<-chan error
		for _, ref := range []string{"a", "b", "c", "d", "e"} {
			waiting = append(waiting, r.ask(t.Context(), f, ref))
		}
		ctx, cancel := context.WithCancel(t.Context())
		queued := r.ask(ctx, f, "f")
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

func TestPullsThatComeTooFastWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f := &registry{}, newFlights(0, 0.1, 2)
		for _, ref := range []string{"a", "b", "c", "d"} {
			r.ask(t.Context(), f, ref)
		}
		for _, want := range []int{2, 3, 4} {
			begun := 0
			r.count(func() { begun = r.begun })
			if begun != want {
				t.Errorf("%d pulls have begun after %s, want %d", begun, 10*time.Second*time.Duration(want-2), want)
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
		}
		time.Sleep(time.Hour)
	})
}

func TestAnotherPaceHoldsForThePullsThatFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		p := New(Config{Runtime: m, PerSecond: 0.1, Burst: 1, Tell: (&owner{}).tell})
		two := func() time.Duration {
			began := time.Now()
			for range 2 {
				ref := "web:" + strconv.Itoa(m.pulled())
				if _, err := p.Ensure(t.Context(), testPod(ref), need(ref, corev1.PullIfNotPresent)); err != nil {
					t.Fatal(err)
				}
			}
			return time.Since(began)
		}
		if took := two(); took != 10*time.Second {
			t.Errorf("two pulls took %s, want 10s", took)
		}
		p.SetPace(0, 0)
		if took := two(); took != 0 {
			t.Errorf("without a limit two pulls took %s, want none", took)
		}
		time.Sleep(time.Hour)
		p.SetPace(1, 1)
		if took := two(); took != time.Second {
			t.Errorf("at one a second two pulls took %s", took)
		}
	})
}
