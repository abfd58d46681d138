package sim

import (
	"cmp"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/limit"
	"nodal/node/store"
	"nodal/reconciler/shutdown"
)

// The bugs of an agent whose machine shuts down.
const (
	AllPhasesAtOnce Bug = "ending critical pods together with the others"
	TooMuchGrace    Bug = "giving pods more time than their phase has"
	NoReturn        Bug = "not letting pods run again after a shutdown"
	EarlyRelease    Bug = "letting the machine go on while pods still end"
)

const (
	ordinaryTime = 15 * time.Second
	criticalTime = 8 * time.Second
)

// leastCritical returns the least priority of critical pods.
func leastCritical() int32 {
	priority, _ := limit.SystemPriority("system-cluster-critical")
	return priority
}

// descent shuts the machine down now and then: it reboots once the agent lets it, or stays up after all. It has a random
// source of its own.
type descent struct {
	*world
	rand    *rand.Rand
	on      bool
	down    bool          // a shutdown was announced
	began   time.Duration // when
	freed   bool          // an agent has let the machine go on
	round   int           // counts shutdowns
	times   shutdown.Times
	clients *clients
	reboot  func(round int)
}

var _ shutdown.Memory = (*descent)(nil)

func (d *descent) Load() shutdown.Times { return d.times }

func (d *descent) Save(t shutdown.Times) error {
	d.times = t
	return nil
}

func newDescent(w *world, o Options) *descent {
	return &descent{world: w, rand: rand.New(rand.NewPCG(o.Seed, 7)), on: o.Down}
}

// ranking makes some pods critical.
func (d *descent) ranking(pod *corev1.Pod) {
	if !d.on || d.rand.IntN(2) == 0 {
		return
	}
	if pod.Name == fileNames()[0] { // no class gives static pods their priority
		priority := leastCritical()
		pod.Spec.Priority = &priority
		return
	}
	pod.Spec.PriorityClassName = "system-cluster-critical"
}

// newMachine returns the part of an agent that ends pods for a shutdown.
func (a *agent) newMachine(events *store.Events) *shutdown.Machine {
	phases := []node.ShutdownPhase{
		{Priority: 0, Period: ordinaryTime}, {Priority: leastCritical(), Period: criticalTime},
	}
	switch a.bug {
	case AllPhasesAtOnce:
		phases = []node.ShutdownPhase{{Priority: 0, Period: ordinaryTime}}
	case TooMuchGrace:
		phases[1].Period = ordinaryTime
	}
	return shutdown.New(shutdown.Config{
		Store: a.store, Phases: phases, Resume: func(now time.Time) error {
			if a.bug == NoReturn {
				return nil
			}
			return a.world.descent.clients.intake(a, node.SourceAPI).Resume(now)
		},
		Memory: a.world.descent, Report: events.Add, Clock: a.world.clock, Log: slog.New(slog.DiscardHandler),
	})
}

// shutDown has the machine shut down now and then, until the time for faults is over.
func (s *simulation) shutDown() {
	d := s.descent
	if !d.on {
		return
	}
	s.after(time.Duration(d.rand.ExpFloat64()*float64(40*time.Second)), func() {
		if s.now >= strife {
			return
		}
		if !d.down {
			s.announce()
		}
		s.shutDown()
	})
}

// announce begins a shutdown. It is called off, or the machine reboots once its agent lets it, or in the end anyway.
func (s *simulation) announce() {
	d := s.descent
	d.down, d.freed, d.began, d.round = true, false, s.now, d.round+1
	s.trace.addf("world: the machine shuts down")
	if s.agent != nil {
		s.agent.machine.GoDown("sim")
	}
	round, total := d.round, ordinaryTime+criticalTime
	if d.rand.IntN(3) == 0 {
		s.after(time.Duration(d.rand.Int64N(int64(total))), func() { s.callOff(round) })
		return
	}
	s.after(total+10*time.Second, func() { s.rebootIn(round) })
}

// callOff has the machine stay up after all.
func (s *simulation) callOff(round int) {
	d := s.descent
	if !d.down || d.round != round {
		return
	}
	s.trace.addf("world: the machine stays up after all")
	s.met.addf("shutdown: called off")
	d.down = false
	if s.agent != nil {
		s.agent.machine.StayUp()
		s.agent.descended()
	}
}

// rebootIn ends the agent and everything that runs, and starts an agent on the new machine.
func (s *simulation) rebootIn(round int) {
	d := s.descent
	if !d.down || d.round != round {
		return
	}
	s.trace.addf("world: the machine reboots")
	s.met.addf("shutdown: the machine reboots")
	d.down = false
	s.crash("as its machine reboots")
	for _, c := range slices.Clone(s.containers) {
		if c.running() {
			s.end(c, 137, "Error")
		}
	}
	for _, box := range s.sandboxes {
		box.ready = false
	}
	for _, box := range s.sandboxes {
		s.unbind(box.uid)
	}
	clear(s.sequence.began)
	clear(s.sequence.told)
}

// awake tells an agent that starts how its machine is.
func (d *descent) awake(a *agent) {
	if !d.on {
		return
	}
	if d.down {
		a.machine.GoDown("sim")
	} else {
		a.machine.StayUp()
	}
	d.after(0, a.descend)
}

// descend has an agent decide which pods end, again and again.
func (a *agent) descend() {
	if a.dead {
		return
	}
	d := a.world.descent
	before := d.asked(a)
	a.machine.Pass()
	d.judge(a, before)
	a.descended()
	if d.down && !d.freed && (a.machine.State().Done || a.bug == EarlyRelease) {
		d.free(a)
	}
	a.world.after(500*time.Millisecond, a.descend)
}

// descended lets the agent go on after a decision. The ledger takes note of pods that were admitted again.
func (a *agent) descended() {
	views, _ := a.store.Views()
	for _, v := range views {
		heir, l := heirOf(v.Slot), a.world.witness.wanted[v.Key]
		if l != nil && heir.UID() == l.id.uid && idOf(heir) != l.id {
			a.world.witness.acknowledge(v.Key, v.Slot)
			a.world.met.addf("shutdown: a pod that was kept out is admitted")
		}
	}
	a.turn()
}

// free lets the machine reboot soon. Nothing may run any more that has time left to end.
func (d *descent) free(a *agent) {
	d.freed = true
	for _, c := range d.containers {
		known := d.witness.lives[c.life] != nil && !c.late && c.running()
		if view, ok := a.store.View(c.key); known && ok && view.Slot.Pod.UID() == c.uid && d.hasTime(view.Slot) {
			d.witness.failf("the machine may go on, and %s runs", c)
		}
	}
	round := d.round
	d.after(time.Duration(d.rand.Int64N(int64(3*time.Second))), func() { d.reboot(round) })
}

// hasTime reports whether a pod was not asked to end, or has time left for that for certain.
func (d *descent) hasTime(slot *node.Slot) bool {
	t, pod, soon := slot.Termination, slot.Pod, d.clock().Add(time.Millisecond)
	switch {
	case d.witness.jumps:
		return false
	case pod.Deletion != nil:
		return soon.Before(pod.Deletion.Deadline())
	case t != nil:
		return soon.Before(t.Requested.Add(cmp.Or(t.Grace, node.GracePeriod(pod.Object))))
	}
	return slot.Result == nil
}

// asked returns the pods that have a termination.
func (d *descent) asked(a *agent) map[lifeID]bool {
	asked := map[lifeID]bool{}
	views, _ := a.store.Views()
	for _, v := range views {
		asked[idOf(v.Slot.Pod)] = v.Slot.Termination != nil
	}
	return asked
}

// judge checks what a decision of an agent has done.
func (d *descent) judge(a *agent, before map[lifeID]bool) {
	views, _ := a.store.Views()
	last := lasting(views)
	for _, v := range views {
		t := v.Slot.Termination
		if !t.ForShutdown() || before[idOf(v.Slot.Pod)] {
			continue
		}
		d.trace.addf("agent: ends %s within %s, returns: %t", v.Key, t.Grace, t.Returns)
		period := ordinaryTime
		if last[v.Key] {
			period = criticalTime
			d.met.addf("shutdown: a critical pod ends")
		}
		allowed := a.machine.State().Began.Add(ordinaryTime + criticalTime)
		switch {
		case !d.down:
			d.witness.failf("pod %s ends for a shutdown, and there is none", v.Key)
		case t.Grace > period:
			d.witness.failf("pod %s has %s to end, and its phase takes %s", v.Key, t.Grace, period)
		case !d.witness.jumps && t.Grace > time.Second && t.Requested.Add(t.Grace).After(allowed):
			d.witness.failf("pod %s may end %s after the machine goes", v.Key, t.Requested.Add(t.Grace).Sub(allowed))
		case !t.Returns && v.Slot.Pod.WantedBy() != node.SourceCluster && v.Slot.Pod.Object.Spec.RestartPolicy != corev1.RestartPolicyNever:
			d.witness.failf("pod %s ends for good", v.Key)
		}
		d.inTurn(v, views, last)
	}
}

// inTurn checks that a pod ends after those that start after it, and a critical one after all that are not.
func (d *descent) inTurn(v store.View, views []store.View, last map[node.Key]bool) {
	for _, other := range views {
		slot := other.Slot
		before, _ := node.Before(slot.Pod.Object)
		runs := len(d.runsOf(&life{id: idOf(slot.Pod)})) > 0
		switch ends := slot.Termination != nil || slot.Pod.Deletion != nil || slot.Result != nil; {
		case slices.Contains(before, v.Key) && runs && !ends && !d.over(&life{id: idOf(slot.Pod), object: slot.Pod.Object}):
			d.witness.failf("pod %s ends while %s runs, which starts after it", v.Key, other.Key)
		case last[v.Key] && !last[other.Key] && d.runsKnown(other) && d.hasTime(slot):
			d.witness.failf("pod %s is critical and ends while %s runs", v.Key, other.Key)
		}
	}
}

// runsKnown reports whether a container of a pod runs that its agent has not given up.
func (d *descent) runsKnown(v store.View) bool {
	return slices.ContainsFunc(d.containers, func(c *container) bool {
		return c.uid == v.Slot.Pod.UID() && c.running() && !c.late
	})
}

// lasting returns the pods that end with the critical ones: those, and the pods that these start after.
func lasting(views []store.View) map[node.Key]bool {
	last, grown := map[node.Key]bool{}, true
	for grown {
		grown = false
		for _, v := range views {
			priority := v.Slot.Pod.Object.Spec.Priority
			if priority == nil || *priority < leastCritical() {
				if !last[v.Key] {
					continue
				}
			}
			grown = grown || !last[v.Key]
			last[v.Key] = true
			before, _ := node.Before(v.Slot.Pod.Object)
			for _, key := range before {
				grown = grown || !last[key]
				last[key] = true
			}
		}
	}
	return last
}
