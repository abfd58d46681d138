package reconciler

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/status"
)

const (
	reconnectBase = 50 * time.Millisecond
	reconnectMax  = 2 * time.Second
	safetyRelist  = 5 * time.Minute // in case an event was lost
)

// watch keeps in touch with the runtime: it asks for a full look whenever the
// connection is new, and hands on what the runtime tells.
func (r *Reconciler) watch(ctx context.Context) {
	wake := func(key node.Key) {
		select {
		case r.wakes <- key:
		case <-ctx.Done():
		}
	}
	failures := int32(0)
	for ctx.Err() == nil {
		r.relist()
		err := r.Act.Runtime.Watch(ctx, wake, r.relist)
		if errors.Is(err, node.ErrUnsupported) {
			r.poll(ctx)
			return
		}
		failures++
		sleep(ctx, node.Backoff(reconnectBase, failures, reconnectMax))
	}
}

// poll looks at a runtime that tells nothing itself.
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

// relist asks for a full look; one that is already asked for is enough.
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

// look observes one pod, or the whole runtime, in a goroutine of its own.
func (r *Reconciler) look(ctx context.Context, only *node.Key) {
	r.mark++
	s := sighting{only: only, mark: r.mark}
	go func() {
		s.all, s.err = r.Act.Runtime.List(ctx, only)
		select {
		case r.seen <- s:
		case <-ctx.Done():
		}
	}()
}

// sight takes what a look showed.
func (r *Reconciler) sight(s sighting) {
	switch {
	case s.only != nil:
		r.sightOne(s)
	case s.err != nil:
		r.lost(s.err)
	default:
		r.sightAll(s)
	}
}

func (r *Reconciler) sightOne(s sighting) {
	t, ok := r.tracks[*s.only]
	if !ok {
		return
	}
	t.observing = false
	r.dirty[t.key] = true
	if s.err != nil {
		r.lost(s.err)
		return
	}
	t.See(observedOr(s.all, t.key), s.mark, r.Act.Clock())
}

// lost notes that the runtime does not answer: nothing is decided until it
// was seen whole again.
func (r *Reconciler) lost(err error) {
	r.synced = false
	if !r.away {
		r.away = true
		r.Log.Warn("the container runtime does not answer", "err", err)
		r.Events.Add(node.Event{Time: r.Act.Clock(), Warning: true, Reason: "RuntimeLost", Message: err.Error()})
	}
	if r.retry == nil {
		r.retry = time.AfterFunc(reconnectBase, r.relist)
		return
	}
	r.retry.Reset(reconnectBase) // one look to come is enough, however many failed
}

func (r *Reconciler) sightAll(s sighting) {
	if s.mark < r.whole {
		return // a later look was quicker
	}
	r.whole = s.mark
	regained := !r.synced
	r.synced, r.away = true, false
	if regained {
		r.Log.Info("the container runtime answers", "pods", len(s.all))
		r.Events.Add(node.Event{Time: r.Act.Clock(), Reason: "RuntimeReady", Message: "the container runtime answers"})
	}
	for key, t := range r.tracks {
		seen := observedOr(s.all, key)
		delete(s.all, key)
		if regained {
			t.Retry()
			t.Doubt(0)
			r.dirty[key] = true
		}
		if t.unsure || t.Differs(seen) {
			if !t.See(seen, s.mark, r.Act.Clock()) {
				t.Doubt(0) // what it showed may be news: look again once our own effect is over
			}
			r.dirty[key] = true
		}
	}
	r.strays = s.all
	r.forgetFreed(s.mark)
	r.adoptStrays()
}

// forgetFreed leaves out of the strays what a look still shows of pods that
// were released after it had begun.
func (r *Reconciler) forgetFreed(mark node.Mark) {
	for key, at := range r.freed {
		if at > mark {
			delete(r.strays, key)
		} else {
			delete(r.freed, key)
		}
	}
}

// adoptStrays records pods that run without being wanted, once it is certain
// that nobody wants them.
func (r *Reconciler) adoptStrays() {
	if !r.ready {
		return
	}
	for key, found := range r.strays {
		if err := r.Act.Store.Adopt(key, found, r.Act.Clock()); err != nil {
			r.Log.Warn("cannot record a pod that nobody wants", "pod", key, "err", err)
		}
	}
}

func (r *Reconciler) wake(key node.Key) {
	if t, ok := r.tracks[key]; ok {
		r.mark++
		t.Doubt(r.mark)
		r.dirty[key] = true
		return
	}
	r.relist()
}

func observedOr(all map[node.Key]*node.Observed, key node.Key) *node.Observed {
	if o, ok := all[key]; ok {
		return o
	}
	return &node.Observed{}
}

// tellReady records the moment a pod becomes ready, or stops being so.
func (r *Reconciler) tellReady(t *tracked) {
	s := status.Of(r.Site, t.Slot(), t.Got())
	ready, since := false, time.Time{}
	for _, c := range s.Conditions {
		if c.Type == corev1.PodReady {
			ready, since = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
	}
	if ready && !t.wasReady && since.After(r.began) { // what was adopted was ready before
		pod := t.Slot().Pod
		r.tell(t, pod, node.Event{Reason: "Ready", Message: "all containers are ready", Took: r.Act.Clock().Sub(pod.Accepted)})
	}
	t.wasReady = ready
}
