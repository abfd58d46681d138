package reconciler

import (
	"context"
	"time"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler/decide"
)

// Prober runs the probes of containers.
type Prober interface {
	// Set replaces the probes of a pod. A probe that is set again goes on.
	Set(key node.Key, probes []node.Probe)
	// Results returns the channel of results that change something.
	Results() <-chan node.Probed
}

// Tracer records the steps of pods. It never blocks.
type Tracer interface {
	// Step notes the begin of an action. The function that it returns is called when the action has ended.
	Step(context.Context, *node.Pod, *node.Observed, node.Action) (context.Context, func(error))
	// Ready is called whenever a pod becomes ready.
	Ready(*node.Pod)
}

// untraced is a Tracer that records nothing.
type untraced struct{}

var _ Tracer = untraced{}

func (untraced) Step(
	ctx context.Context, _ *node.Pod, _ *node.Observed, _ node.Action,
) (context.Context, func(error)) {
	return ctx, func(error) {}
}

func (untraced) Ready(*node.Pod) {}

// hands work for the loop, until Run ends.
type hands struct {
	*Reconciler
	// start runs do in a goroutine of its own. cancel ends its context early.
	start func(do func(context.Context)) (cancel func())
	over  <-chan struct{} // closed when Run ends
}

var _ Hands = hands{}

// newHands makes the hands of a Run with this context.
func newHands(ctx context.Context, r *Reconciler) hands {
	start := func(do func(context.Context)) (cancel func()) {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			defer cancel()
			do(ctx)
		}()
		return cancel
	}
	return hands{Reconciler: r, start: start, over: ctx.Done()}
}

// Begin runs one action in a goroutine of its own.
func (h hands) Begin(t *Tracked, a node.Action) (cancel func()) {
	pod, got, began := t.Slot().Pod, t.Got(), h.Act.Clock()
	if e, ok := announce(a); ok {
		h.addEvent(pod, e)
	}
	return h.start(func(ctx context.Context) {
		f := finished{t: t, pod: pod, Outcome: Outcome{Action: a}}
		f.Result, f.Err = h.gate.through(ctx, a, func() (node.Result, error) {
			return h.do(ctx, pod, got, a)
		})
		if ctx.Err() != nil && f.Err != nil {
			f.Err = context.Cause(ctx)
		}
		f.took = h.Act.Clock().Sub(began)
		h.post(func() { h.finish(f) })
	})
}

// do carries an action out.
func (h hands) do(ctx context.Context, pod *node.Pod, got *node.Observed, a node.Action) (node.Result, error) {
	began := h.Act.Clock()
	ctx, end := h.Tracer.Step(ctx, pod, got, a)
	result, err := h.Act.Do(ctx, pod.Key(), pod, got, a)
	end(err)
	h.Counts.Did(pod, got, a, h.Act.Clock().Sub(began), err)
	return result, err
}

// Tend runs one action on an asset in a goroutine of its own.
func (h hands) Tend(t *Tended, a node.Action) (cancel func()) {
	return h.start(func(ctx context.Context) {
		o := Outcome{Action: a, Err: t.Do(ctx, a)}
		if ctx.Err() != nil && o.Err != nil {
			o.Err = context.Cause(ctx)
		}
		h.post(func() { h.finishAsset(t, o) })
	})
}

// Find looks at an asset in a goroutine of its own.
func (h hands) Find(t *Tended, began node.Mark) {
	asset := t.Asset()
	h.start(func(ctx context.Context) {
		s := AssetSighting{Began: began}
		s.Look, s.Err = t.Look(ctx, asset)
		h.post(func() { h.found(t, s) })
	})
}

// post has the loop's goroutine call do.
func (h hands) post(do func()) {
	select {
	case h.inbox <- do:
	case <-h.over:
	}
}

// Look looks in a goroutine of its own.
func (h hands) Look(only *node.Key, began node.Mark) {
	h.start(func(ctx context.Context) {
		s, since := Sighting{Only: only, Began: began}, h.Act.Clock()
		s.All, s.Err = h.Act.Runtime.List(ctx, only)
		if only == nil {
			h.Counts.Relisted(since, h.Act.Clock().Sub(since), s.Err)
		}
		h.post(func() { h.loop.See(s, h.Act.Clock()) })
	})
}

// Relist asks for a full look.
func (h hands) Relist() { h.relist() }

// Saw counts a pod that was accepted since the start, and reports it if it was refused. It counts what changes about a pod
// that was there before.
func (h hands) Saw(v store.View, before *node.Pod) {
	freed := h.freed.saw(v, before)
	if v.Gone {
		return
	}
	pod := v.Slot.Pod
	if before != nil && before.UID() == pod.UID() {
		if before != pod {
			h.Counts.Changed(before, pod, freed)
			h.reportPending(before, pod)
		}
		return
	}
	if !pod.Accepted.After(h.began) {
		return
	}
	h.Counts.Taken(pod)
	h.reportRefused(pod)
}

// Show brings events and probes up to the present observation.
func (h hands) Show(t *Tracked, news bool) {
	if news {
		h.reportStatus(t)
		h.reportBehind(t)
	}
	h.Prober.Set(t.Key, decide.Probes(h.Site, t.Slot(), t.Got()))
	h.follow(t)
}

// Drop ends the probes of a pod, forgets what was reported of it, and counts its work as ended.
func (h hands) Drop(key node.Key) {
	h.Prober.Set(key, nil)
	delete(h.wasReady, key)
	delete(h.wasBehind, key)
	delete(h.backedOff, key)
	delete(h.resizes, key)
	h.ended(key)
}

// Lost reports once that the runtime does not answer, and asks for a full look after a pause. The pause grows with each
// failure. A new connection asks for a look at once, see watch.
func (h hands) Lost(err error, news bool) {
	now := h.Act.Clock()
	if news {
		h.misses = 0
		h.Log.Warn("the container runtime does not answer", "err", err)
		h.Events.Add(node.Event{Time: now, Warning: true, Reason: "RuntimeLost", Message: err.Error()})
	}
	if now.Before(h.retry) {
		return // a look is planned already
	}
	h.misses++
	pause := node.Backoff(ReconnectBase, h.misses, retryMax)
	h.retry = now.Add(pause)
	time.AfterFunc(pause, h.relist)
}

// Regained reports that the runtime answers again.
func (h hands) Regained(pods int) {
	h.Log.Info("the container runtime answers", "pods", pods)
	h.Events.Add(node.Event{Time: h.Act.Clock(), Reason: "RuntimeReady", Message: "the container runtime answers"})
}

// Adopted logs a stray that could not be recorded.
func (h hands) Adopted(key node.Key, err error) {
	if err != nil {
		h.Log.Warn("cannot record an orphaned pod", "pod", key.String(), "err", err)
	}
}
