package sim

import (
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler"
)

// passes records that an init container lets the next one begin: a sidecar once it runs and its
// postStart hook has ended, any other once it has succeeded.
func (wi *witness) passes(c *container) {
	l := wi.lives[c.life]
	if l == nil {
		return
	}
	spec := node.InitContainer(&l.object.Spec, c.name)
	ephemeral := node.EphemeralContainer(&l.object.Spec, c.name) != nil
	if !c.running() && !ephemeral && (spec == nil || !node.IsSidecar(spec)) {
		l.ended = c.finished
	}
	switch {
	case spec == nil, c.running() && node.HookOf(spec, node.PostStart) != nil && !c.hooks.begun:
	case node.IsSidecar(spec) && c.running(), !node.IsSidecar(spec) && c.state == node.ContainerExited && c.exit == 0:
		at := within{c.sandbox.id, c.name}
		wi.past[at] = max(wi.past[at], c.attempt+1)
	}
}

// restartsWithAll reports whether a run has to end because all containers of its pod restart. It
// asks the pod as first accepted, and as accepted again after its record was lost.
func (wi *witness) restartsWithAll(c *container) bool {
	own, wanted := wi.lives[c.life], wi.wanted[c.key]
	return own != nil && own.outlived(c) || wanted != nil && wanted.id.uid == c.uid && wanted.outlived(c)
}

// isPast reports whether an init container has let the next one begin since the last restart of
// all.
func (wi *witness) isPast(l *life, sandbox, name string) bool {
	return wi.past[within{sandbox, name}] > l.rounds[name]
}

// isBefore reports whether a run is newer than the last that let the next container begin.
func (wi *witness) isBefore(run *container) bool {
	return run.attempt >= wi.past[within{run.sandbox.id, run.name}]
}

// beginsInOrder checks that a container begins after all before it, and after a restart of all only
// when no older run is left.
func (wi *witness) beginsInOrder(w *world, c *container) {
	l := wi.lives[c.life]
	if l == nil || node.EphemeralContainer(&l.object.Spec, c.name) != nil {
		return
	}
	for _, other := range w.containers {
		if other.life == c.life && other.running() && !other.late && l.outlived(other) {
			wi.failf("%s begins while %s runs, and all of them have to restart together", c, other)
		}
	}
	for i := range l.object.Spec.InitContainers {
		before := l.object.Spec.InitContainers[i].Name
		if before == c.name {
			return
		}
		if !wi.isPast(l, c.sandbox.id, before) {
			wi.failf("%s begins before %s is past", c, before)
		}
	}
}

// endsInOrder checks that at a deletion or deadline a sidecar ends after the containers that it
// serves, until the grace period is over. What the agent could not know does not count.
func (wi *witness) endsInOrder(w *world, c *call, victim *container) {
	stop, ok := c.action.(node.StopContainer)
	l := wi.lives[victim.life]
	ending := c.pod.Deletion != nil || l != nil && !l.expired.IsZero()
	orderless := !ending || c.pod.UID() != victim.uid || c.pod.Source == node.SourceRuntime || stop.Grace == 0
	if !ok || l == nil || c.abandoned() || wi.jumps || orderless {
		return
	}
	for _, other := range w.containers {
		if other.life == victim.life && other.running() && !other.late && serves(l.object, victim.name, other.name) {
			wi.failf("%s is asked to end by %q while %s runs", victim, stop, other)
		}
	}
}

// serves reports whether name is a sidecar that starts before other.
func serves(object *corev1.Pod, name, other string) bool {
	begun := false
	for c := range specs(object) {
		if begun && c.Name == other {
			return true
		}
		begun = begun || c.Name == name && node.InitContainer(&object.Spec, name) != nil && node.IsSidecar(c)
	}
	return false
}

// restsAlone checks that nothing of a pod with a final result runs.
func (wi *witness) restsAlone(w *world, l *life) {
	for _, c := range w.runsOf(l) {
		if c.life == l.id && !c.late {
			wi.failf("pod %s has finished and %s runs", l.key, c)
		}
	}
}

// startsOver checks that all containers of a pod restart only when one has ended as its rules
// demand.
func (wi *witness) startsOver(w *world, l *life, slot *node.Slot) {
	news := slices.ContainsFunc(slot.Pod.Restarts, func(r node.Restart) bool { return r.All && r.Attempt >= l.rounds[r.Container] })
	if !news {
		return
	}
	for _, c := range w.containers {
		spec := specOf(l.object, c.name)
		if c.uid == l.id.uid && spec != nil && c.state == node.ContainerExited && node.After(&l.object.Spec, spec, c.exit) == node.AllContainers {
			return
		}
	}
	for c := range specs(l.object) {
		if _, vanished := wi.vanished[c.Name+string(l.id.uid)]; vanished && len(c.RestartPolicyRules) > 0 {
			return
		}
	}
	wi.failf("all containers of %s restart, and no rule demands that", l.key)
}

// expires checks a termination: the pod has run as long as it may, has written too much, or makes
// room and is no static pod. It then fails with the reason of the termination.
func (wi *witness) expires(w *world, l *life, slot *node.Slot) {
	t := slot.Termination
	if t == nil {
		wi.returns(w, l)
		return
	}
	if first := wi.first(l); !wi.jumps && l.began.Before(first) && l.id.uid != wi.member {
		wi.failf("pod %s counts from %s, and was first accepted at %s", l.key, l.began, first)
	}
	due := l.began.Add(l.active)
	early := !wi.jumps && (l.active == 0 || t.Requested.Before(due))
	switch {
	case !l.expired.IsZero():
	case t.ForShutdown():
		wi.halts(l, t)
	case t.Signal != "" && !w.scarcity.doomed[l.id.uid]:
		wi.failf("pod %s is evicted for %s, and others should go", l.key, t.Signal)
	case t.Signal != "" && slot.Pod.Source != node.SourceAPI:
		wi.failf("pod %s is evicted for %s, and is static", l.key, t.Signal)
	case t.Signal != "":
		wi.hurry(l, t.Grace)
	case t.Reason == node.Evicted && !w.gorged[l.id.uid]:
		wi.failf("pod %s is evicted, and has not written too much", l.key)
	case t.Reason == node.Evicted:
		w.met.addf("evicted")
		wi.hurry(l, t.Grace)
	case t.Reason == node.Preempting && slot.Pod.Source != node.SourceAPI:
		wi.failf("pod %s is preempted, and is static", l.key)
	case t.Reason == node.Preempting:
		w.met.addf("preempted")
	case early:
		wi.failf("pod %s has to end at %s, and may run until %s", l.key, t.Requested, due)
	}
	for known := range wi.same(l) {
		known.expired = t.Requested
	}
	if r := slot.Result; r != nil && (r.Phase != corev1.PodFailed || r.Reason != t.Reason) {
		wi.failf("pod %s was made to end, %s, and is %s %s", l.key, t.Reason, r.Phase, r.Reason)
	}
}

// halts records that a pod ends for a shutdown, and returns that it runs again.
func (wi *witness) halts(l *life, t *node.Termination) {
	for known := range wi.same(l) {
		known.halted, known.patience = t.Returns, known.grace
	}
	wi.hurry(l, t.Grace)
}

func (wi *witness) returns(w *world, l *life) {
	for known := range wi.same(l) {
		if known.halted {
			for _, c := range w.runsOf(known) {
				c.cut = known.expired.Add(known.grace) // the runtime goes on ending it
			}
			known.halted, known.grace, known.expired = false, known.patience, time.Time{}
		}
	}
}

// vanishes records runs that can no longer be inspected.
func (wi *witness) vanishes(c *container) {
	key := c.name + string(c.uid)
	wi.vanished[key] = max(wi.vanished[key], c.attempt)
}

// over reports whether a pod has done all its work, or may have as far as its agent knows. Runs
// that vanished count as the agent saw them.
func (w *world) over(l *life) bool {
	for i := range l.object.Spec.InitContainers {
		if w.ended(l, &l.object.Spec.InitContainers[i], 1) {
			return true
		}
	}
	for i := range l.object.Spec.Containers {
		if !w.ended(l, &l.object.Spec.Containers[i], 0) {
			return false
		}
	}
	return true
}

// dying reports whether nothing follows the last runs of a pod, which a probe or a hook has condemned.
func (w *world) dying(l *life) bool {
	for i := range l.object.Spec.Containers {
		c := &l.object.Spec.Containers[i]
		run := w.newest(l, c.Name)
		condemned := run != nil && run.running() && (run.sick || run.hooks.failed)
		last := node.PolicyOf(&l.object.Spec, c) == corev1.RestartPolicyNever
		if !w.ended(l, c, 0) && !(condemned && last) {
			return false
		}
	}
	return true
}

// ended reports whether a container has ended for good, or may have, with at least an exit code.
func (w *world) ended(l *life, c *corev1.Container, least int32) bool {
	if _, ok := w.witness.vanished[c.Name+string(l.id.uid)]; ok && mayEnd(&l.object.Spec, c, least) {
		return true
	}
	newest := w.newest(l, c.Name)
	return newest != nil && newest.state == node.ContainerExited && newest.exit >= least && mayStay(&l.object.Spec, c, newest.exit)
}

// toldFirst checks that readers see an observation before an action that follows from it begins. It
// ignores a deleted pod of which nothing is left.
func (wi *witness) toldFirst(store *store.Store, t *reconciler.Tracked, a node.Action) {
	known := *t.Got()
	if t.Slot().Pod.Deletion != nil && known.Empty() {
		return
	}
	var told node.Observed
	if view, ok := store.View(t.Key); ok && view.Got != nil {
		told = *view.Got
	}
	known.Mark, told.Mark = 0, 0
	if !reflect.DeepEqual(told, known) {
		wi.failf("%s is begun for pod %s, and readers do not see the reason yet", a, t.Key)
	}
}
