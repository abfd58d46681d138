package sim

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	podlife "nodal/node/life"
	"nodal/reconciler"
)

// hooked records what truly became of a run's hooks.
type hooked struct {
	begun   bool          // a try of the postStart hook has ended
	well    bool          // a try has succeeded
	failed  bool          // a try failed before that
	ending  bool          // the agent had a reason to run the preStop hook
	asked   time.Duration // when it first had that reason
	stopped bool          // a try of the preStop hook has ended
}

// addHooks gives a container random hooks.
func (c *clients) addHooks(spec *corev1.Container) {
	hook := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"do"}}}
	spec.Lifecycle = &corev1.Lifecycle{}
	if c.pick(2) == 0 {
		spec.Lifecycle.PostStart = hook
	}
	if c.pick(2) == 0 {
		spec.Lifecycle.PreStop = hook
	}
}

var errHook = errors.New("injected")

// hook runs a hook until it ends, its time is over, or its container ends.
func (w *world) hook(c *call, a node.RunHook) {
	run, f := w.container(a.ID), c.agent.faults
	over := func(err error) {
		if !c.settled {
			w.settle(c)
			w.hooked(a, err)
			w.after(c.fate.back, func() { w.answer(c, node.Result{At: w.clock()}, err) })
		}
	}
	if run == nil || !run.running() {
		over(a.Failure(errHook))
		return
	}
	lasts, outcome := f.between(0, 300*time.Millisecond), error(nil)
	if f.strike(Delay) {
		lasts = f.between(0, 40*time.Second)
	}
	if c.fate.kind == Fail || f.strike(Sick) {
		outcome = a.Failure(errHook)
	}
	run.waiters = append(run.waiters, func() { over(a.Failure(errHook)) })
	w.after(lasts, func() { over(outcome) })
	if !a.Until.IsZero() {
		w.after(a.Until.Sub(w.clock()), func() { over(a.Failure(errHook)) })
	}
}

// hooked records how a try of a hook ended.
func (w *world) hooked(a node.RunHook, err error) {
	run := w.container(a.ID)
	if run == nil {
		return
	}
	w.trace.addf("world: the %s hook of %s ended: %v", a.Kind, run, err)
	h := &run.hooks
	if a.Kind == node.PreStop {
		h.stopped = true
		return
	}
	h.begun, h.well, h.failed = true, h.well || err == nil, h.failed || err != nil && !h.well
	if err == nil || a.Again {
		w.witness.passes(run)
	}
}

// noteEnding records that a run may be ended: once its preStop hook has begun, the end is carried
// through.
func (w *world) noteEnding(c *call) {
	a, ok := c.action.(node.RunHook)
	run := w.container(a.ID)
	if !ok || a.Kind != node.PreStop || run == nil || run.hooks.ending || c.verdict[a.ID] != nil {
		return
	}
	run.hooks.ending, run.hooks.asked = true, w.now
}

// asked returns when a run was first asked to end, by its hook or by TERM.
func (c *container) asked() time.Duration {
	if c.hooks.ending {
		return min(c.hooks.asked, c.term)
	}
	return c.term
}

// signals checks that no stop signal precedes the end of the preStop hook within the grace period.
// This holds for unwanted pods too.
func (wi *witness) signals(c *call, a node.StopContainer, run *container) {
	l := wi.lives[run.life]
	if l == nil || wi.jumps || a.Grace == 0 {
		return
	}
	if spec := specOf(l.object, run.name); spec != nil && node.HookOf(spec, node.PreStop) != nil && !run.hooks.stopped {
		wi.failf("%s is asked to end by %q before its preStop hook has ended", run, a)
	}
}

// shows checks that no container is shown as started before its postStart hook has ended.
func (wi *witness) shows(w *world, t *reconciler.Tracked) {
	life := podlife.Of(t.Slot(), t.Got())
	for c := range life.Containers() {
		if node.HookOf(c, node.PostStart) == nil || !life.Started(c) {
			continue
		}
		if run := w.container(life.Run(c.Name).ID); run != nil && !run.hooks.begun {
			wi.failf("%s is shown as started before its postStart hook has ended", run)
		}
	}
}
