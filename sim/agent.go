package sim

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/intake"
	"nodal/node/limit"
	"nodal/reconciler"
)

// agent drives the pure core as reconciler.Reconciler does, but one thing at a
// time and on virtual time. What it holds dies with it.
type agent struct {
	world   *world
	faults  *faults
	bug     Bug
	site    node.Site
	store   *node.Store
	act     reconciler.Act
	tracks  map[node.Key]*tracked
	strays  map[node.Key]*node.Observed
	dirty   map[node.Key]bool
	freed   map[node.Key]node.Mark
	alarm   time.Time // the earliest that is set
	whole   node.Mark // of the newest full look
	mark    node.Mark
	since   int64
	objects int64
	swept   time.Time
	synced  bool
	ready   bool
	dead    bool
	begun   int // actions
	retries int // of full looks that failed
}

type tracked struct {
	*reconciler.Track
	key       node.Key
	calls     map[string]*call // in flight, by target
	wake      time.Time
	observing bool
	unsure    bool // a new look is needed, as the Track sees it
	doubt     node.Mark
	published *node.Observed
}

// noLogs are logs that nobody has written.
type noLogs struct{}

var _ reconciler.Logs = noLogs{}

func (noLogs) RemovePod(node.Key, types.UID) error                 { return nil }
func (noLogs) RemoveRun(node.Key, types.UID, string, uint32) error { return nil }

// newAgent starts from what the journal kept.
func newAgent(w *world, f *faults, j *journal) (*agent, error) {
	records := j.load()
	clock, err := node.OpenClock(j, records)
	if err != nil {
		return nil, err
	}
	store := node.NewStore(j, clock)
	if err := errors.Join(store.Restore(records)...); err != nil {
		return nil, err
	}
	a := &agent{
		world: w, faults: f, store: store, since: -1,
		site: node.Site{NodeName: "sim", Runtime: "sim", BackoffMax: time.Minute, Cgroups: true, Limits: limit.Rules{Pids: 100}},
		act: reconciler.Act{
			Store: store, Runtime: w, Images: w, Logs: noLogs{}, Cgroups: cgroups{w, store}, Volumes: volumes{w, store}, Clock: w.clock,
		},
		tracks: map[node.Key]*tracked{}, strays: map[node.Key]*node.Observed{}, dirty: map[node.Key]bool{},
		freed: map[node.Key]node.Mark{},
	}
	a.act.Freed = func(tx *node.Tx) {
		intake.Intake{Store: store, Node: admit.Node{Name: "sim", Allocatable: offered()}}.Readmit(tx, w.clock())
	}
	return a, nil
}

// turn is one round of the loop: intents, then every pod whose turn it is.
func (a *agent) turn() {
	if a.dead {
		return
	}
	a.takeIntents()
	a.step()
	a.sweep()
	a.world.witness.advances(a.store.Revision())
}

func (a *agent) takeIntents() {
	views, revision, err := a.store.Since(a.since)
	if err != nil {
		views, revision = a.store.Views()
	}
	a.since = revision
	for _, v := range views {
		a.world.witness.reads(a.world, v)
		a.intend(v)
	}
	a.takeObjects()
}

func (a *agent) takeObjects() {
	changed := a.store.ObjectsChanged()
	if changed == a.objects {
		return
	}
	a.objects = changed
	for _, t := range a.tracks {
		a.supply(t)
	}
}

func (a *agent) supply(t *tracked) {
	if t.Supply(a.store.Revisions(node.ObjectRefs(t.Slot().Pod.Object))) {
		a.dirty[t.key] = true
	}
}

func (a *agent) intend(v node.View) {
	t, ok := a.tracks[v.Key]
	switch {
	case v.Gone && ok:
		a.drop(t)
	case v.Gone:
	case !ok:
		seen := a.strays[v.Key]
		delete(a.strays, v.Key)
		t = &tracked{Track: reconciler.NewTrack(v.Slot, seen, a.synced), key: v.Key, unsure: !a.synced, calls: map[string]*call{}}
		a.tracks[v.Key], a.dirty[v.Key] = t, true
		a.supply(t)
	case t.Slot() != v.Slot:
		if obsolete := t.Intend(v.Slot); obsolete != nil {
			t.cancel(a, obsolete)
		}
		a.supply(t)
		a.dirty[v.Key] = true
	}
}

func (a *agent) drop(t *tracked) {
	t.cancel(a, func(node.Action) bool { return true })
	delete(a.tracks, t.key)
	delete(a.dirty, t.key)
	a.mark++
	a.freed[t.key] = a.mark
	if t.unsure {
		a.relist()
	}
}

func (t *tracked) cancel(a *agent, obsolete func(node.Action) bool) {
	for _, target := range slices.Sorted(maps.Keys(t.calls)) {
		if c := t.calls[target]; obsolete(c.action) {
			a.world.trace.addf("agent: cancels %s for %s", c.action, t.key)
			a.world.giveUp(c, a.faults)
		}
	}
}

func (a *agent) step() {
	if !a.synced {
		return
	}
	for _, key := range a.dirtyKeys() {
		delete(a.dirty, key)
		t, ok := a.tracks[key]
		if !ok || !a.ready && t.Strangers() && a.bug != SweepEarly {
			continue
		}
		turn := t.Next(a.site, a.world.clock())
		if turn.Observe && !t.observing {
			t.observing = true
			a.look(&t.key)
		}
		t.cancel(a, func(action node.Action) bool { return slices.Contains(turn.Cancel, action.Target()) })
		for _, action := range turn.Actions {
			a.start(t, action)
		}
		if t.wake = turn.Wake; !turn.Wake.IsZero() {
			a.setAlarm(turn.Wake)
		}
		a.publish(t)
	}
}

func byKey(a, b node.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func (a *agent) dirtyKeys() []node.Key { return slices.SortedFunc(maps.Keys(a.dirty), byKey) }

func (a *agent) trackKeys() []node.Key { return slices.SortedFunc(maps.Keys(a.tracks), byKey) }

// setAlarm has the pods looked at again at a time.
func (a *agent) setAlarm(at time.Time) {
	if !a.alarm.IsZero() && !at.Before(a.alarm) {
		return
	}
	a.alarm = at
	a.world.after(at.Sub(a.world.clock()), func() {
		if a.dead || !a.alarm.Equal(at) {
			return
		}
		a.ring()
		a.turn()
	})
}

// ring wakes the pods that are due and sets the next alarm.
func (a *agent) ring() {
	a.alarm = time.Time{}
	now := a.world.clock()
	for _, key := range a.trackKeys() {
		switch t := a.tracks[key]; {
		case t.wake.IsZero():
		case t.wake.After(now):
			a.setAlarm(t.wake)
		default:
			t.wake, a.dirty[key] = time.Time{}, true
		}
	}
}

func (a *agent) publish(t *tracked) {
	a.world.witness.shows(a.world, t)
	if t.published == t.Got() {
		return
	}
	t.published = t.Got()
	a.store.Observe(t.key, t.published)
}

func (a *agent) start(t *tracked, action node.Action) {
	if _, forgets := action.(node.SetTally); forgets && a.bug == ForgetTally {
		action = node.SetTally{Container: action.(node.SetTally).Container}
	}
	t.Begin(action)
	c := &call{agent: a, t: t, pod: t.Slot().Pod, got: t.Got(), action: action, fate: a.faults.fate()}
	t.calls[action.Target()] = c
	a.begun++
	a.world.trace.addf("agent: begins %s for %s (%s %s)", action, t.key, c.pod.UID(), c.fate.kind)
	a.world.submit(c)
	if _, hook := action.(node.RunHook); hook && a.bug == HastyHooks {
		a.world.after(0, func() { a.world.reply(c, node.Result{}, nil) })
	}
}

func (a *agent) finish(c *call, result node.Result, err error) {
	if c.cancelled && err != nil {
		err = context.Canceled
	}
	if result.At.IsZero() {
		result.At = a.world.clock()
	}
	a.world.trace.addf("agent: %s for %s answered: %s %v", c.action, c.t.key, result.ID, err)
	a.mark++
	if c.t.calls[c.action.Target()] == c {
		delete(c.t.calls, c.action.Target())
	}
	c.t.unsure = c.t.unsure || err != nil
	c.t.Done(reconciler.Outcome{Action: c.action, Result: result, Err: err, Mark: a.mark, Now: a.world.clock()})
	a.dirty[c.t.key] = true
}
