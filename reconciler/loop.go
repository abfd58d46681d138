package reconciler

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/assign"
	"nodal/node/store"
	"nodal/reconciler/decide"
)

// Loop holds the tracks of all pods, and the rules that turn events into work. It owns no goroutine, waits for nothing
// and takes the time as an argument, so the simulation runs the same loop as the node. Its methods take events; the
// Hands get the work.
type Loop struct {
	Store *store.Store
	Site  node.Site
	Pool  *assign.Pool // of CPUs that pods share; nil disables it
	Hands Hands
	Kinds []Kind // of assets

	tracks  map[node.Key]*Tracked
	dirty   map[node.Key]bool // pods that get a turn next
	alarms  alarms[node.Key]
	mark    node.Mark
	since   int64 // store revision up to which intents were taken
	objects int64 // store revision up to which objects were taken
	swept   time.Time
	scarce  bool // the node's disk runs short
	contact
	hearing
	retaining
	order
	ills
	assets
}

// Hands work for the loop. None of their methods waits; results come later, through methods of the Loop.
type Hands interface {
	// Begin begins an action; Loop.Finish takes its outcome. Cancel gives it up.
	Begin(t *Tracked, a node.Action) (cancel func())
	// Look looks at one pod, or at the whole runtime; Loop.See takes the result.
	Look(only *node.Key, began node.Mark)
	// Relist asks for a look at the whole runtime soon.
	Relist()
	// Saw gets a pod as the store has it now, and the pod that had its key before.
	Saw(v store.View, before *node.Pod)
	// Show is called when the observation of a pod may have changed. news reports that it was published.
	Show(t *Tracked, news bool)
	// Drop is called when a pod is no longer followed.
	Drop(key node.Key)
	// Lost is called for each failed look at the runtime, Regained for the first that succeeds.
	Lost(err error, news bool)
	Regained(pods int)
	AssetHands
	// Adopted gets a pod that runs without being wanted.
	Adopted(key node.Key, err error)
}

// Tracked is the track of a pod, with the loop's own notes on it.
type Tracked struct {
	*Track
	Key node.Key

	cancels   map[string]func() // of actions in flight, by target
	observing bool
	published *node.Observed
}

// NewLoop makes a loop without pods.
func NewLoop(store *store.Store, site node.Site) *Loop {
	return &Loop{
		Store: store, Site: site, since: -1,
		tracks: map[node.Key]*Tracked{}, dirty: map[node.Key]bool{},
		alarms:  alarms[node.Key]{due: map[node.Key]time.Time{}},
		contact: contact{strays: map[node.Key]*node.Observed{}, freed: map[node.Key]node.Mark{}},
		hearing: hearing{held: map[node.Key]bool{}},
		order:   newOrder(),
		assets:  newAssets(),
	}
}

// Turn takes what the store wants now, and gives a turn to every pod that is marked for one.
func (l *Loop) Turn(now time.Time) {
	l.takeIntents()
	l.tend(now)
	if !l.synced {
		return // the runtime is out of reach; all pods are looked at once it is back
	}
	l.retain(now)
	for len(l.dirty) > 0 { // a turn may be news for the pods that start after that one
		for _, key := range inOrder(l.dirty) {
			delete(l.dirty, key)
			if t, ok := l.tracks[key]; ok && l.mayAct(t) {
				l.step(t, now)
			}
		}
	}
}

func (l *Loop) step(t *Tracked, now time.Time) {
	t.Trail(l.behind(t))
	t.Feel(l.health(t.Slot().Pod))
	turn := t.Next(decide.Input{Site: l.Site, Scarce: l.scarce, Unheard: l.hold(t), Wanted: l.wanted(t), Now: now})
	if turn.Observe && !t.observing {
		t.observing = true
		l.look(&t.Key)
	}
	for _, target := range turn.Cancel {
		t.cancels[target]()
	}
	news := l.publish(t) // before the actions: readers must not see their effects beside an older observation
	for _, a := range turn.Actions {
		t.Begin(a)
		t.cancels[a.Target()] = l.Hands.Begin(t, a)
	}
	l.alarms.set(turn.Wake, t.Key)
	l.Hands.Show(t, news)
}

// SetScarce has finished pods give up their containers and logs while the node's disk runs short.
func (l *Loop) SetScarce(scarce bool) {
	l.scarce = scarce
	for key, t := range l.tracks {
		if t.Slot().Result != nil {
			l.dirty[key] = true
		}
	}
}

// Finish folds the outcome of an action into its track.
func (l *Loop) Finish(t *Tracked, o Outcome) {
	o.Mark = l.Stamp()
	delete(t.cancels, o.Action.Target())
	t.Done(o)
	l.dirty[t.Key] = true
}

// Hear takes the result of a probe. It is published even while the runtime is away: clients of the pod need it at once.
func (l *Loop) Hear(word node.Probed) (news bool) {
	t, ok := l.tracks[word.Key]
	if !ok || !t.Hear(word) {
		return false
	}
	l.show(t)
	l.dirty[t.Key] = true
	return true
}

// Next returns the time until the earliest alarm of a pod or an asset.
func (l *Loop) Next(now time.Time) time.Duration { return min(l.alarms.next(now), l.due.next(now)) }

// Ring gives a turn to the pods and the assets whose alarms are due.
func (l *Loop) Ring(now time.Time) {
	l.alarms.ring(now, func(key node.Key) { l.dirty[key] = true })
	l.due.ring(now, func(key AssetKey) { l.untended[key] = true })
}

// Stamp returns a mark that is later than all before it.
func (l *Loop) Stamp() node.Mark {
	l.mark++
	return l.mark
}

// Tracks returns the pods that are followed, in order.
func (l *Loop) Tracks() []*Tracked {
	tracks := make([]*Tracked, 0, len(l.tracks))
	for _, key := range inOrder(l.tracks) {
		tracks = append(tracks, l.tracks[key])
	}
	return tracks
}

// Track returns the track of a pod, if it is followed.
func (l *Loop) Track(key node.Key) (*Tracked, bool) {
	t, ok := l.tracks[key]
	return t, ok
}

// Calm reports whether a pod waits for nothing but perhaps the time, and whether it has an alarm.
func (l *Loop) Calm(t *Tracked) (calm, alarmed bool) {
	_, alarmed = l.alarms.due[t.Key]
	return t.Idle() && !t.unsure && !t.observing && !l.dirty[t.Key], alarmed
}

// Sweep reports whether the remains of unknown pods are due to be removed, and returns the pods that the runtime shows.
// A crash or a lost record leaves such remains. A pod that may still run keeps what it has, wanted or not.
func (l *Loop) Sweep(now time.Time) (seen map[types.UID]bool, due bool) {
	if !l.ready() || !l.synced || now.Sub(l.swept) < sweepEvery && !l.swept.After(now) {
		return nil, false
	}
	l.swept = now
	return l.seen(), true
}

// untilSweep returns the time until the next sweep, and a second where one is due: the one before may still be at work.
func (l *Loop) untilSweep(now time.Time) time.Duration {
	if !l.ready() || !l.synced || l.swept.After(now) {
		return sweepEvery // or sooner, with the turn that what is missing causes
	}
	return max(time.Second, sweepEvery-now.Sub(l.swept))
}

// seen returns the pods that the runtime shows.
func (l *Loop) seen() map[types.UID]bool {
	seen := map[types.UID]bool{}
	for _, t := range l.tracks {
		noteUIDs(seen, t.Got())
	}
	for _, stray := range l.strays {
		noteUIDs(seen, stray)
	}
	return seen
}

// takeIntents brings the tracks up to the store's present slots.
func (l *Loop) takeIntents() {
	views, revision, err := l.Store.Since(l.since)
	if err != nil { // the first turn, or far behind: take everything
		views, revision = l.Store.Views()
		for _, key := range inOrder(l.tracks) {
			if _, ok := l.Store.View(key); !ok {
				views = append(views, store.View{Key: key, Gone: true})
			}
		}
	}
	l.since = revision
	for _, v := range views {
		l.intend(v)
	}
	l.share(views)
	l.takeAssets(l.takeObjects(), len(views) > 0)
}

func (l *Loop) intend(v store.View) {
	t, ok := l.tracks[v.Key]
	var before *node.Pod
	if ok {
		before = t.Slot().Pod
	}
	l.Hands.Saw(v, before)
	l.place(v)
	switch {
	case v.Gone && ok:
		l.drop(t)
	case v.Gone:
	case !ok:
		seen := l.strays[v.Key]
		delete(l.strays, v.Key)
		t = &Tracked{Track: NewTrack(v.Slot, seen, l.synced), Key: v.Key, cancels: map[string]func(){}}
		l.tracks[v.Key], l.dirty[v.Key] = t, true
		l.supply(t)
	case t.Slot() != v.Slot:
		if obsolete := t.Intend(v.Slot); obsolete != nil {
			t.cancel(obsolete)
		}
		l.dirty[v.Key] = true
		l.supply(t)
	}
}

// cancel gives up actions in flight.
func (t *Tracked) cancel(obsolete func(node.Action) bool) {
	for _, target := range slices.Sorted(maps.Keys(t.cancels)) {
		if obsolete(t.busy[target]) {
			t.cancels[target]()
		}
	}
}

func (l *Loop) drop(t *Tracked) {
	l.Hands.Drop(t.Key)
	t.cancel(func(node.Action) bool { return true })
	delete(l.tracks, t.Key)
	delete(l.dirty, t.Key)
	l.alarms.set(time.Time{}, t.Key)
	if t.Strangers() {
		l.strays[t.Key] = t.Got() // the pod that has the name now may be delivered before the next look
	} else {
		l.freed[t.Key] = l.Stamp()
	}
	if t.unsure {
		l.Hands.Relist() // the pod changed meanwhile, and no other event would cause a look
	}
}

// takeObjects passes changed objects on to the pods that use them. The pods bring their volumes up to date, and retry
// what failed because an object was missing. It reports whether any object has changed.
func (l *Loop) takeObjects() (news bool) {
	changed := l.Store.ObjectsChanged()
	if changed == l.objects {
		return false
	}
	l.objects = changed
	for _, t := range l.tracks {
		l.supply(t)
	}
	return true
}

func (l *Loop) supply(t *Tracked) {
	if t.Supply(l.Store.Revisions(node.ObjectRefs(t.Slot().Pod.Object))) {
		l.dirty[t.Key] = true
	}
}

// show publishes the observation of a pod, and passes it to the hands.
func (l *Loop) show(t *Tracked) { l.Hands.Show(t, l.publish(t)) }

// publish shows a new observation to readers. A deleted pod of which nothing is left is shown as it last was: it did
// not go back to its beginning.
func (l *Loop) publish(t *Tracked) (news bool) {
	news = t.published != t.Got() && (t.Slot().Pod.Deletion == nil || !t.Got().Empty())
	if news {
		news = t.published == nil || !sameFacts(t.published, t.Got())
		t.published = t.Got()
	}
	if news {
		l.Store.Observe(t.Key, t.published)
		l.rouse(t.Key)
	}
	return news
}

// inOrder returns the keys of a map by name. The order of a map must not decide what happens to pods.
func inOrder[V any](m map[node.Key]V) []node.Key {
	return slices.SortedFunc(maps.Keys(m), node.Key.Compare)
}
