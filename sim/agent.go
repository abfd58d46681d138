package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/assign"
	"nodal/node/intake"
	"nodal/node/limit"
	"nodal/node/store"
	"nodal/reconciler"
	"nodal/reconciler/evict"
	"nodal/reconciler/shutdown"
)

// agent drives the reconciler's loop over the world, one step at a time on virtual time. Its state
// dies with it.
type agent struct {
	world   *world
	faults  *faults
	bug     Bug
	loop    *reconciler.Loop
	store   *store.Store
	act     reconciler.Act
	evictor evict.Evictor
	relief  *evict.Relief
	machine *shutdown.Machine
	watched map[node.Key]bool    // pods with a look under way
	alarm   time.Time            // when the loop wants to run again
	waiting map[node.Source]bool // sources that have not delivered
	claims  node.Claims          // of the cluster

	dead     bool
	sweeping bool
	begun    int       // actions begun
	calls    []*call   // calls without an answer yet
	errands  []*errand // errands without an answer yet
	retries  int       // full looks that failed
}

// newAgent starts an agent from the records in the journal.
func newAgent(w *world, f *faults, j *journal, bug Bug) (*agent, error) {
	records := j.load()
	clock, err := store.OpenClock(j, records)
	if err != nil {
		return nil, err
	}
	held := store.New(j, clock)
	if err := errors.Join(held.Restore(records)...); err != nil {
		return nil, err
	}
	site := node.Site{NodeName: "sim", Runtime: "sim", BackoffMax: time.Minute, Cgroups: true, Limits: limit.Rules{Pids: 100}}
	if w.agents++; w.guarded && w.agents%2 == 1 {
		site.Limits.Memory = limit.Memory{Keep: true, Throttle: 0.9, Page: 4096, Allocatable: 1 << 32}
	}
	a := &agent{
		world: w, faults: f, bug: bug, store: held, loop: reconciler.NewLoop(held, site),
		act: reconciler.Act{
			Store: held, Runtime: w, Images: w, Logs: logLinks{w, bug}, Cgroups: cgroups{w, held}, Volumes: volumes{w, held}, Storage: w.keeper(), Clock: w.clock,
			Devices: w.gadgets, Rules: w.gadgets.chosen, Claims: w.tools,
		},
		evictor: evict.Evictor{Store: held, Disk: disk{w}, Events: store.NewEvents(clock), Log: slog.New(slog.DiscardHandler), Clock: w.clock},
		watched: map[node.Key]bool{}, waiting: map[node.Source]bool{node.SourceFile: true},
	}
	for _, r := range w.realms {
		a.loop.Kinds = append(a.loop.Kinds, r.kind(a))
	}
	a.loop.Hands = hands{a}
	if !w.guarded { // with CPUs to share, every run is brought up to them after each start
		a.loop.Pool = assign.NewPool(rules())
	}
	a.relief, a.machine = a.newRelief(a.evictor.Events), a.newMachine(a.evictor.Events)
	a.act.Freed = func(tx *store.Tx) {
		intake.Intake{Store: held, Offer: w.offers, Storage: w.keeper()}.Readmit(tx, w.clock())
	}
	return a, nil
}

// turn runs one round of the loop.
func (a *agent) turn() {
	if a.dead {
		return
	}
	a.loop.Turn(a.world.clock())
	a.sweep()
	a.setAlarm()
	a.world.witness.advances(a.store.Revision())
	a.world.witness.apart(a.world)
	a.world.witness.apartOn(a.world)
}

// setAlarm schedules the next round that the loop asked for.
func (a *agent) setAlarm() {
	now := a.world.clock()
	at := now.Add(a.loop.Next(now))
	if at.Equal(a.alarm) {
		return
	}
	a.alarm = at
	a.world.after(at.Sub(now), func() {
		if !a.dead && a.alarm.Equal(at) {
			a.alarm = time.Time{}
			a.loop.Ring(a.world.clock())
			a.turn()
		}
	})
}

// sweep begins a sweep, if one is due and none is at work.
func (a *agent) sweep() {
	if a.sweeping {
		return
	}
	seen, due := a.loop.Sweep(a.world.clock())
	if !due {
		return
	}
	a.sweeping = true
	keep := func(uid types.UID) bool { return seen[uid] || a.store.Holds(uid) }
	if a.bug == HomesFirst {
		_ = a.act.Volumes.Sweep(context.Background(), keep)
	}
	a.sweepOn(a.act.NewSweep(keep))
}

// sweepOn makes the next step of a sweep, and the others later, as the real ones run beside the loop.
func (a *agent) sweepOn(s *reconciler.Sweep) {
	if a.dead {
		return
	}
	more, err := s.Step(context.Background())
	if err != nil {
		a.world.trace.addf("agent: %v", err)
	}
	if a.sweeping = more; more {
		a.world.after(a.faults.between(0, time.Second), func() { a.sweepOn(s) })
	}
}

func (a *agent) finish(c *call, result node.Result, err error) {
	a.calls = slices.DeleteFunc(a.calls, func(o *call) bool { return o == c })
	if c.cancelled && err != nil {
		err = context.Canceled
	}
	if result.At.IsZero() {
		result.At = a.world.clock()
	}
	a.world.trace.addf("agent: %s for %s answered: %s %v", c.action, c.t.Key, result.ID, err)
	a.loop.Finish(c.t, reconciler.Outcome{Action: c.action, Result: result, Err: err, Now: a.world.clock()})
}

// poll starts a full look every second, for a runtime without events.
func (a *agent) poll() {
	if a.dead {
		return
	}
	a.relist()
	a.world.after(reconciler.PollEvery, a.poll)
}

// relist starts a full look.
func (a *agent) relist() {
	if !a.dead {
		a.loop.LookAll()
	}
}

// watchOver starts a full look now and then, in case an event was lost.
func (a *agent) watchOver() {
	if a.dead {
		return
	}
	if a.bug == MissWakes { // a look would cure the bug sooner or later
		a.turn()
	} else {
		a.relist()
	}
	a.world.after(reconciler.SafetyRelist, a.watchOver)
}

// see hands a look to the loop. One bug is planted here: an old look passes for a new one.
func (a *agent) see(s reconciler.Sighting) {
	if a.dead {
		return
	}
	if s.Only != nil {
		delete(a.watched, *s.Only)
	}
	if a.bug == StaleSnapshot {
		s.Began = a.loop.Stamp()
	}
	for _, key := range sortedKeys(s.All) {
		a.world.trace.addf("agent: sees %s, begun at %d: %s", key, s.Began, outline{s.All[key]})
	}
	a.loop.See(s, a.world.clock())
	a.turn()
}

// wake handles an event of the runtime.
func (a *agent) wake(key node.Key) {
	if a.dead {
		return
	}
	if a.bug != MissWakes || !a.watched[key] {
		a.loop.Wake(key)
	}
	a.turn()
}

// expect tells the loop which sources have not delivered yet.
func (a *agent) expect() {
	waiting := maps.Clone(a.waiting)
	maps.DeleteFunc(waiting, func(_ node.Source, waits bool) bool { return !waits || a.bug == SweepEarly })
	a.loop.Await(waiting, a.claims, a.world.clock())
}

// delivered notes that a source has delivered.
func (a *agent) delivered(source node.Source) {
	delete(a.waiting, source)
	a.expect()
}

// outline prints an observation in a few words.
type outline struct{ *node.Observed }

func (o outline) String() string {
	var b strings.Builder
	for _, s := range o.Sandboxes {
		fmt.Fprintf(&b, "%s/%d ", s.ID, s.State)
	}
	for _, c := range o.Containers {
		fmt.Fprintf(&b, "%s=%s/%d %s ", c.ID, c.Name, c.Attempt, c.State)
	}
	return strings.TrimSpace(b.String())
}
