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
			if deaf := at.Sub(b.begun[i]) - time.Minute; deaf != reconnectBase {
				t.Errorf("after break %d nobody listened for %s, want %s", i+1, deaf, reconnectBase)
			}
		}
	})
}

func TestARuntimeThatIsAwayIsAskedMoreAndMoreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{Act: Act{Clock: time.Now}})
		h := hands{r, t.Context()}
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
