package sim

import (
	"time"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler"
)

// hands carry out what the agent's loop asks for. Actions become calls, which fail and come late;
// so do looks.
type hands struct{ *agent }

var _ reconciler.Hands = hands{}

// Begin begins a call. Most bugs are planted here.
func (h hands) Begin(t *reconciler.Tracked, action node.Action) (cancel func()) {
	if tally, ok := action.(node.SetTally); ok && h.bug == ForgetTally {
		action = node.SetTally{Container: tally.Container}
	}
	if stop, ok := action.(node.StopContainer); ok && h.bug == NoGrace {
		stop.Grace = 0
		action = stop
	}
	if stop, ok := action.(node.StopContainer); ok && h.bug == AllAtOnce && t.Slot().Pod.Deletion != nil {
		h.stopSidecars(t, stop)
	}
	h.world.witness.toldFirst(h.store, t, action)
	h.world.lay(t.Slot().Pod.UID(), action)
	c := h.call(t, action)
	if _, readies := action.(node.ReadyDevices); readies && h.bug == HastyDevices {
		h.world.after(0, func() { h.world.reply(c, node.Result{}, nil) })
	}
	if _, hook := action.(node.RunHook); hook && h.bug == HastyHooks {
		h.world.after(0, func() { h.world.reply(c, node.Result{}, nil) })
	}
	return func() {
		h.world.trace.addf("agent: cancels %s for %s", action, t.Key)
		h.world.giveUp(c, h.faults)
	}
}

func (h hands) call(t *reconciler.Tracked, action node.Action) *call {
	c := &call{agent: h.agent, t: t, pod: t.Slot().Pod, got: t.Got(), action: action, fate: h.faults.fate()}
	h.world.startsInOrder(h.store, t, action)
	h.begun++
	h.calls = append(h.calls, c)
	h.world.trace.addf("agent: begins %s for %s (%s %s)", action, t.Key, c.pod.UID(), c.fate.kind)
	h.world.submit(c)
	return c
}

// stopSidecars plants the bug AllAtOnce.
func (h hands) stopSidecars(t *reconciler.Tracked, with node.StopContainer) {
	pod := t.Slot().Pod
	for _, run := range t.Got().Containers {
		spec := node.InitContainer(&pod.Object.Spec, run.Name)
		if spec != nil && node.IsSidecar(spec) && run.UID == pod.UID() && run.Alive() && run.ID != with.ID {
			h.call(t, node.StopContainer{Container: run.Name, ID: run.ID, Grace: with.Grace, Reason: with.Reason})
		}
	}
}

// Look lists the sandboxes, then the containers, and delivers both later. The world moves on in
// between.
func (h hands) Look(only *node.Key, began node.Mark) {
	s := reconciler.Sighting{Only: only, Began: began}
	if only != nil {
		h.watched[*only] = true
	}
	longest := [3]time.Duration{3 * time.Millisecond, 3 * time.Millisecond, 3 * time.Millisecond}
	if h.faults.strike(Stale) {
		longest = [3]time.Duration{time.Second, time.Second, 3 * time.Second}
	}
	var steps [3]time.Duration
	for i := range steps {
		steps[i] = h.faults.between(0, longest[i])
	}
	blind := h.faults.strike(Blind)
	h.world.after(steps[0], func() {
		down := h.world.down
		s.All = h.world.listSandboxes(only)
		h.world.after(steps[1], func() {
			h.world.listContainers(only, s.All)
			if blind || down || h.world.down {
				s.Err = node.ErrUnavailable
			}
			h.world.after(steps[2], func() { h.see(s) })
		})
	})
}

// Relist starts a full look at once.
func (h hands) Relist() { h.relist() }

// Saw lets the witness check each read of the store.
func (h hands) Saw(v store.View, _ *node.Pod) { h.world.witness.reads(h.world, v) }

// Show lets the witness check what readers are shown.
func (h hands) Show(t *reconciler.Tracked, news bool) {
	h.world.witness.shows(h.world, t)
	if news {
		h.world.witness.moveOn(h.world, t)
	}
	h.overtakes(t)
}

// Drop does nothing: simulated probes have no timers.
func (h hands) Drop(node.Key) {}

// Lost repeats a failed full look soon.
func (h hands) Lost(error, bool) {
	h.world.trace.addf("agent: the runtime does not answer")
	h.retries++
	last := h.retries
	h.world.after(reconciler.ReconnectBase, func() {
		if h.retries == last {
			h.relist()
		}
	})
}

// Regained does nothing.
func (h hands) Regained(int) {}

// Adopted adds the adoption to the story.
func (h hands) Adopted(key node.Key, err error) { h.world.trace.addf("agent: adopts %s: %v", key, err) }
