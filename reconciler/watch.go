package reconciler

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"nodal/node"
)

// The simulation keeps the times that are exported.
const (
	// ReconnectBase is the first pause after a runtime was lost.
	ReconnectBase = 50 * time.Millisecond
	reconnectMax  = 2 * time.Second
	retryMax      = time.Second
	// SafetyRelist is the time between looks at a runtime that has events: one may get lost.
	SafetyRelist = 5 * time.Minute
	// PollEvery is the time between looks at a runtime without events.
	PollEvery = time.Second
)

// watch listens to the runtime. It asks for a full look whenever the connection is new, and passes events on.
func (r *Reconciler) watch(ctx context.Context) {
	wake := func(key node.Key) {
		select {
		case r.wakes <- key:
		case <-ctx.Done():
		}
	}
	var failures atomic.Int32 // in a row
	relist := func() {
		failures.Store(0)
		r.relist()
	}
	for ctx.Err() == nil {
		r.relist()
		err := r.listen(ctx, wake, relist)
		if errors.Is(err, node.ErrUnsupported) {
			r.poll(ctx)
			return
		}
		sleep(ctx, node.Backoff(ReconnectBase, failures.Add(1), reconnectMax))
	}
}

// listen watches the runtime until the stream breaks, and counts whether its events arrived.
func (r *Reconciler) listen(ctx context.Context, wake func(node.Key), relist func()) error {
	heard := false
	err := r.Act.Runtime.Watch(ctx, wake, func() {
		if !heard {
			heard = true
			r.Counts.Listened(nil)
		}
		relist()
	})
	if !heard && ctx.Err() == nil {
		r.Counts.Listened(err)
	}
	return err
}

// poll asks for a look at regular intervals.
func (r *Reconciler) poll(ctx context.Context) {
	ticker := time.NewTicker(r.Relist)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.relist()
		}
	}
}

// relist asks for a full look, unless one is asked for already.
func (r *Reconciler) relist() {
	select {
	case r.relists <- struct{}{}:
	default:
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
