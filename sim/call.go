package sim

import (
	"context"
	"fmt"
	"slices"

	"nodal/node"
	"nodal/reconciler"
)

// call is one action in flight. It begins, has its effect, and is answered; each of the last two
// may never come. A call that the agent gave up, or that outlives its agent, may still have its
// effect.
type call struct {
	agent  *agent
	t      *reconciler.Tracked
	pod    *node.Pod
	got    *node.Observed
	action node.Action
	fate   fate

	verdict   map[string]error // by container: why the call may not end it, judged when it began
	reserved  string           // the name that the call reserves
	cancelled bool
	replied   bool // the agent has its answer, or gave up
	settled   bool // the effect came, or never will
}

// local reports whether an action happens in the agent itself: it dies with the agent, and has no
// reply to lose.
func local(a node.Action) bool { return a.About().Place != node.InRuntime }

// onDisk reports whether an action is the agent's own work on the disk or in the cgroup tree. It
// takes time and may fail, and a crash may interrupt it anywhere.
func onDisk(a node.Action) bool { return a.About().Place == node.OnMachine }

// submit begins a call.
func (w *world) submit(c *call) {
	c.verdict = w.witness.verdicts(w, c)
	w.noteEnding(c)
	w.pending = append(w.pending, c)
	w.after(c.fate.travel, func() { w.arrive(c) })
}

func (w *world) arrive(c *call) {
	switch {
	case c.settled:
	case onDisk(c.action) && c.fate.kind == Refuse:
		w.settle(c)
		w.reply(c, node.Result{}, refused("Refused", "%s: injected", c.action))
	case onDisk(c.action):
		w.after(c.fate.work, func() { w.effect(c) })
	case local(c.action):
		w.effect(c)
	case w.down || c.fate.kind == Hang:
		w.settle(c)
		wait := c.fate.back
		if !w.down {
			wait = c.fate.timeout
		}
		w.after(wait, func() { w.reply(c, node.Result{}, unknown(c.action)) })
	case c.fate.kind == Refuse:
		w.settle(c)
		err := refused("Refused", "%s: injected", c.action)
		if hook, ok := c.action.(node.RunHook); ok {
			w.hooked(hook, err)
		}
		w.reply(c, node.Result{}, err)
	case !w.reserve(c):
		w.settle(c)
		w.reply(c, node.Result{}, taken(c.action))
	case c.fate.kind == Late && resizes(c.action):
		c.fate.kind = Lose // the runtime gives up together with its caller
		w.after(c.fate.work, func() { w.effect(c) })
	case c.fate.kind == Late:
		w.after(c.fate.timeout, func() { w.reply(c, node.Result{}, unknown(c.action)) })
		w.after(c.fate.timeout+c.fate.late, func() { w.effect(c) })
	default:
		w.after(c.fate.work, func() { w.effect(c) })
	}
}

func unknown(a node.Action) error { return fmt.Errorf("%s: no answer: %w", a, node.ErrUnknown) }

// reserve reserves the name of what a call makes, as containerd does first of all. It returns false
// if the name is taken.
func (w *world) reserve(c *call) bool {
	name := nameOf(c.pod, c.action)
	if name == "" {
		return true
	}
	if w.reserved[name] {
		return false
	}
	c.reserved, w.reserved[name] = name, true
	return true
}

// settle marks a call as over. It frees a reserved name that no object took.
func (w *world) settle(c *call) {
	if c.settled {
		return
	}
	c.settled = true
	w.pending = slices.DeleteFunc(w.pending, func(o *call) bool { return o == c })
	if c.reserved != "" {
		delete(w.reserved, c.reserved)
	}
}

// abandoned reports whether the agent no longer waits for the call.
func (c *call) abandoned() bool { return c.replied || c.cancelled || c.agent.dead }

func (w *world) effect(c *call) {
	if w.around(c.agent, c.action, seldom(c.action)); c.settled {
		return
	}
	w.trace.addf("effect: %s for %s", c.action, c.t.Key)
	w.witness.ends(w, c)
	if stop, ok := c.action.(node.StopContainer); ok {
		w.stop(c, stop)
		return
	}
	if hook, ok := c.action.(node.RunHook); ok {
		w.hook(c, hook)
		return
	}
	made := w.made
	w.excuse(c)
	result, err := c.perform()
	if err == nil {
		c.reserved = "" // the new object holds the name now
	}
	result.At = w.clock()
	w.settle(c)
	w.note(c, made)
	w.around(c.agent, c.action, seldom(c.action))
	w.after(c.fate.back, func() { w.answer(c, result, err) })
}

// Do has the effect of a call, whose name was reserved when it arrived.
func (w *world) Do(
	_ context.Context, pod *node.Pod, got *node.Observed, action node.Action,
) (node.Result, error) {
	return w.Machine.carryOut(pod, got, action)
}

// perform has the effect. Results that the agent would journal are lost if it is dead; the runtime
// acts all the same.
func (c *call) perform() (node.Result, error) {
	if c.agent.dead {
		return c.agent.world.Do(context.Background(), c.pod, c.got, c.action)
	}
	return c.agent.world.perform(c, func() (node.Result, error) {
		return c.agent.act.Do(context.Background(), c.t.Key, c.pod, c.got, c.action)
	})
}

// excuse marks the containers that a call starts or ends after its caller gave up. Containers made
// since the call began are not excused.
func (w *world) excuse(c *call) {
	if !c.abandoned() {
		return
	}
	if about := c.action.About(); about.Nature == node.StartsContainer {
		if run := w.container(about.ID); run != nil && run.state == node.ContainerCreated {
			run.late = true
		}
	}
	for _, victim := range w.victims(c.action) {
		if _, known := c.verdict[victim.id]; !known {
			victim.late = true
		}
	}
}

// note has the witness check each object that a call made.
func (w *world) note(c *call, made int) {
	about := c.action.About()
	switch {
	case about.Nature == node.MakesSandbox && w.made > made:
		newest := w.sandboxes[len(w.sandboxes)-1]
		if newest.late = c.abandoned(); !newest.late {
			w.witness.sandboxMade(w, newest)
			w.witness.boundBy(w, c.pod, newest)
		}
	case about.Nature == node.StartsContainer && !c.abandoned():
		if started := w.container(about.ID); started != nil && started.running() {
			w.witness.beginsInOrder(w, started)
		}
	}
}

// answer sends the reply after an effect.
func (w *world) answer(c *call, result node.Result, err error) {
	switch {
	case local(c.action):
	case c.fate.kind == Fail:
		result, err = node.Result{}, refused("Failed", "%s: injected after the effect", c.action)
	case c.fate.kind == Lose:
		w.after(c.fate.timeout, func() { w.reply(c, node.Result{}, unknown(c.action)) })
		return
	}
	w.reply(c, result, err)
}

func (w *world) reply(c *call, result node.Result, err error) {
	if c.replied || c.agent.dead {
		return
	}
	c.replied = true
	c.agent.finish(c, result, err)
	c.agent.turn()
}

// stop ends a container, which takes as long as its program does.
func (w *world) stop(c *call, a node.StopContainer) {
	target := w.container(a.ID)
	ended := func() {
		w.settle(c)
		w.after(c.fate.back, func() { w.answer(c, node.Result{At: w.clock()}, nil) })
	}
	if target == nil || !target.running() {
		ended()
		return
	}
	target.waiters = append(target.waiters, ended)
	w.witness.signals(c, a, target)
	w.witness.owes(w, c, target)
	w.Machine.stop(target, a.Grace, func() bool { return c.settled })
}

// giveUp cancels a call on the agent's side. Half of the time the runtime does not notice.
func (w *world) giveUp(c *call, f *faults) {
	if c.cancelled || c.replied {
		return
	}
	c.cancelled = true
	unnoticed := f.between(0, 2) >= 1
	if local(c.action) {
		return
	}
	if !unnoticed {
		w.settle(c)
	}
	w.after(c.fate.back, func() { w.reply(c, node.Result{}, context.Canceled) })
}

// orphan decides the fate of a dead agent's calls.
func (w *world) orphan(dead *agent, f *faults) {
	for _, c := range slices.Clone(w.pending) {
		if c.agent == dead && (local(c.action) || resizes(c.action) || f.between(0, 2) < 1) {
			w.settle(c)
			if onDisk(c.action) && f.between(0, 2) < 1 {
				w.tear(c)
			}
		}
	}
}

// breakOff ends all calls when the runtime ends.
func (w *world) breakOff() {
	for _, c := range slices.Clone(w.pending) {
		if local(c.action) {
			continue
		}
		w.settle(c)
		w.after(c.fate.back, func() { w.reply(c, node.Result{}, unknown(c.action)) })
	}
}
