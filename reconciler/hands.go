package reconciler

import (
	"context"
	"time"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler/decide"
)

// Prober asks containers how they are.
type Prober interface {
	// Set replaces the probes of a pod that have to run. What was set before and
	// is set again goes on.
	Set(key node.Key, probes []node.Probe)
	// Results tells what changes.
	Results() <-chan node.Probed
}

// Tracer records the steps of pods. It never blocks.
type Tracer interface {
	// Step begins an action; what it returns is called when the action has ended.
	Step(context.Context, *node.Pod, *node.Observed, node.Action) (context.Context, func(error))
	// Ready is told whenever a pod becomes ready.
	Ready(*node.Pod)
}

// hands do what the loop wants done, until the context of Run ends.
type hands struct {
	*Reconciler
	ctx context.Context
}

var _ Hands = hands{}

// Begin runs one action in a goroutine of its own.
func (h hands) Begin(t *Tracked, a node.Action) (cancel func()) {
	ctx, cancel := context.WithCancel(h.ctx)
	pod, got, began := t.Slot().Pod, t.Got(), h.Act.Clock()
	if e, ok := announce(a); ok {
		h.tell(pod, e)
	}
	go func() {
		defer cancel()
		f := finished{t: t, pod: pod, Outcome: Outcome{Action: a}}
		f.Result, f.Err = h.gate.through(ctx, a, func() (node.Result, error) {
			return h.do(ctx, pod, got, a)
		})
		if ctx.Err() != nil && f.Err != nil {
			f.Err = context.Cause(ctx)
		}
		f.took = h.Act.Clock().Sub(began)
		h.post(func() { h.finish(f) })
	}()
	return cancel
}

// do carries an action out.
func (h hands) do(ctx context.Context, pod *node.Pod, got *node.Observed, a node.Action) (node.Result, error) {
	if h.Tracer == nil {
		return h.Act.Do(ctx, pod.Key(), pod, got, a)
	}
	ctx, end := h.Tracer.Step(ctx, pod, got, a)
	result, err := h.Act.Do(ctx, pod.Key(), pod, got, a)
	end(err)
	return result, err
}

// Tend runs one action on an asset in a goroutine of its own.
func (h hands) Tend(t *Tended, a node.Action) (cancel func()) {
	ctx, cancel := context.WithCancel(h.ctx)
	go func() {
		defer cancel()
		o := Outcome{Action: a, Err: h.Act.Tend(ctx, a)}
		if ctx.Err() != nil && o.Err != nil {
			o.Err = context.Cause(ctx)
		}
		h.post(func() { h.tended(t, o) })
	}()
	return cancel
}

// Find looks at an asset in a goroutine of its own.
func (h hands) Find(t *Tended, began node.Mark) {
	asset := t.Asset()
	go func() {
		s := AssetSighting{Began: began}
		s.There, s.Err = h.Act.Find(h.ctx, asset)
		h.post(func() { h.found(t, s) })
	}()
}

// post has the loop's goroutine do something.
func (h hands) post(do func()) {
	select {
	case h.inbox <- do:
	case <-h.ctx.Done():
	}
}

// Look looks in a goroutine of its own.
func (h hands) Look(only *node.Key, began node.Mark) {
	go func() {
		s, since := Sighting{Only: only, Began: began}, h.Act.Clock()
		s.All, s.Err = h.Act.Runtime.List(h.ctx, only)
		if only == nil {
			h.Counts.Relisted(since, h.Act.Clock().Sub(since), s.Err)
		}
		h.post(func() { h.loop.See(s, h.Act.Clock()) })
	}()
}

// Relist asks for a full look.
func (h hands) Relist() { h.relist() }

// Read counts a pod that was accepted since the start, and reports it if it was refused.
// It ignores a pod that is gone, and a change of a pod that was there before.
func (h hands) Read(v store.View, before *node.Pod) {
	if v.Gone {
		return
	}
	pod := v.Slot.Pod
	if !pod.Accepted.After(h.began) || before != nil && before.UID() == pod.UID() {
		return
	}
	h.Counts.Taken(pod)
	h.tellRefused(pod)
}

// Show has events and probes follow what is known now.
func (h hands) Show(t *Tracked, news bool) {
	if news {
		h.tellReady(t)
	}
	h.Prober.Set(t.Key, decide.Probes(h.Site, t.Slot(), t.Got()))
	h.follow(t)
}

// Drop ends the probes of a pod, forgets its readiness, and counts its work as ended.
func (h hands) Drop(key node.Key) {
	h.Prober.Set(key, nil)
	delete(h.wasReady, key)
	h.ended(key)
}

// Lost reports once that the runtime is away, and asks for a full look after a pause.
// The pause grows with each failure. A new connection asks for a look at once, see watch.
func (h hands) Lost(err error, news bool) {
	now := h.Act.Clock()
	if news {
		h.misses = 0
		h.Log.Warn("the container runtime does not answer", "err", err)
		h.Events.Add(node.Event{Time: now, Warning: true, Reason: "RuntimeLost", Message: err.Error()})
	}
	if now.Before(h.retry) {
		return // one look to come is enough, however many failed
	}
	h.misses++
	pause := node.Backoff(ReconnectBase, h.misses, retryMax)
	h.retry = now.Add(pause)
	time.AfterFunc(pause, h.relist)
}

// Regained says so.
func (h hands) Regained(pods int) {
	h.Log.Info("the container runtime answers", "pods", pods)
	h.Events.Add(node.Event{Time: h.Act.Clock(), Reason: "RuntimeReady", Message: "the container runtime answers"})
}

// Adopted says what could not be recorded.
func (h hands) Adopted(key node.Key, err error) {
	if err != nil {
		h.Log.Warn("cannot record an orphaned pod", "pod", key.String(), "err", err)
	}
}
