package reconciler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nodal/node"
)

// brittle is a runtime whose stream of events breaks again and again.
type brittle struct {
	Runtime
	begun []time.Time // watches
}

func (b *brittle) Watch(ctx context.Context, _ func(node.Key), relist func()) error {
	b.begun = append(b.begun, time.Now())
	relist()
	sleep(ctx, time.Minute)
	return errors.New("broken")
}

func TestWatchIsTakenUpAtOnceHoweverOftenItBroke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &brittle{}
		r := New(Config{Act: Act{Runtime: b}})
		ctx, cancel := context.WithCancel(t.Context())
		go r.watch(ctx)
		time.Sleep(20 * time.Minute)
		cancel()
		synctest.Wait()
		if len(b.begun) < 19 {
			t.Fatalf("%d watches in 20 minutes, want one a minute", len(b.begun))
		}
		for i, at := range b.begun[1:] {
			if deaf := at.Sub(b.begun[i]) - time.Minute; deaf != ReconnectBase {
				t.Errorf("after break %d nobody listened for %s, want %s", i+1, deaf, ReconnectBase)
			}
		}
	})
}

func TestARuntimeThatIsAwayIsAskedMoreAndMoreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{Act: Act{Clock: time.Now}})
		h := newHands(t.Context(), r)
		looks := 0
		for begun := time.Now(); time.Since(begun) < time.Minute; looks++ {
			for range 3 { // pods are looked at as well
				h.Lost(errors.New("away"), false)
			}
			<-r.relists
		}
		if looks < 60 || looks > 66 {
			t.Errorf("it was looked at %d times in a minute, want about 60", looks)
		}
	})
}

// tally is a Counts that counts whether events arrive, and looks at the whole runtime.
type tally struct {
	uncounted
	heard, unheard int
	relisted       []time.Duration
}

func (c *tally) Listened(err error) {
	if err == nil {
		c.heard++
	} else {
		c.unheard++
	}
}

func (c *tally) Relisted(_ time.Time, took time.Duration, _ error) {
	c.relisted = append(c.relisted, took)
}

// talkative is a runtime whose first streams do not open, and whose next one asks for several looks.
type talkative struct {
	Runtime
	refusals int
}

func (r *talkative) Watch(ctx context.Context, _ func(node.Key), relist func()) error {
	if r.refusals > 0 {
		r.refusals--
		return errors.New("away")
	}
	for range 3 {
		relist()
	}
	<-ctx.Done()
	return ctx.Err()
}

func (r *talkative) List(context.Context, *node.Key) (map[node.Key]*node.Observed, error) {
	time.Sleep(time.Second)
	return nil, nil
}

func TestStreamsOfEventsAreCountedOnceEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &tally{}
		r := New(Config{Act: Act{Runtime: &talkative{refusals: 2}}, Counts: c})
		ctx, cancel := context.WithCancel(t.Context())
		go r.watch(ctx)
		time.Sleep(time.Minute)
		cancel()
		synctest.Wait()
		if c.heard != 1 || c.unheard != 2 {
			t.Errorf("%d streams heard and %d not, want 1 and 2", c.heard, c.unheard)
		}
	})
}

func TestLooksAtTheWholeRuntimeAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &tally{}
		r := New(Config{Act: Act{Runtime: &talkative{}, Clock: time.Now}, Counts: c})
		h := newHands(t.Context(), r)
		h.Look(nil, 1)
		<-r.inbox
		h.Look(&node.Key{Namespace: "default", Name: "web"}, 2)
		<-r.inbox
		if len(c.relisted) != 1 || c.relisted[0] != time.Second {
			t.Errorf("counted are looks of %v, want one of a second", c.relisted)
		}
	})
}
