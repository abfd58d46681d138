package reconciler

import (
	"iter"
	"maps"
	"slices"
	"time"

	"nodal/node"
)

// assets holds the tracks of the node's assets.
type assets struct {
	tended   map[AssetKey]*Tended
	untended map[AssetKey]bool // those that get a turn next
	due      alarms[AssetKey]
	heard    map[string]int64 // by kind: the revisions of its boards that were taken, together
}

// Tended is the track of an asset, with the loop's own notes on it.
type Tended struct {
	*AssetTrack

	cancels map[string]func() // of actions in flight, by target
	looking bool
	dropped bool // it is wanted no longer, and goes once nothing is in flight
}

// AssetHands work on assets for the loop. None of their methods waits.
type AssetHands interface {
	// Tend begins an action; Loop.FinishAsset takes its outcome. Cancel gives it up.
	Tend(t *Tended, a node.Action) (cancel func())
	// Find looks at an asset; Loop.Found takes what it shows.
	Find(t *Tended, began node.Mark)
}

func newAssets() assets {
	return assets{
		tended: map[AssetKey]*Tended{}, untended: map[AssetKey]bool{},
		due: alarms[AssetKey]{due: map[AssetKey]time.Time{}}, heard: map[string]int64{},
	}
}

// Assets returns the assets that are followed, in order.
func (l *Loop) Assets() []*Tended {
	var all []*Tended
	for _, key := range slices.SortedFunc(maps.Keys(l.tended), AssetKey.Compare) {
		all = append(all, l.tended[key])
	}
	return all
}

// takeAssets brings the tracks of assets up to what is needed now, of each kind for which that may have changed.
func (l *Loop) takeAssets(objects, pods bool) {
	for _, kind := range l.Kinds {
		rung := l.hear(kind)
		if objects || rung || pods && (kind.ofPods() || l.follows(kind)) {
			l.takeKind(kind)
		}
	}
}

// hear reports whether a board of a kind has news. If so, the assets of the kind are looked at again.
func (l *Loop) hear(kind Kind) (news bool) {
	var revisions int64
	for _, board := range kind.boards() {
		revisions += board.Revision()
	}
	if revisions == l.heard[kind.name()] {
		return false
	}
	l.heard[kind.name()] = revisions
	for _, t := range l.assetsOf(kind) {
		t.Doubt(l.Stamp())
		l.untended[t.asset.Key] = true
	}
	return true
}

// follows reports whether there is an asset of a kind.
func (l *Loop) follows(kind Kind) bool {
	for key := range l.tended {
		if key.Kind == kind.name() {
			return true
		}
	}
	return false
}

// takeKind brings the tracks of one kind up to what is needed now.
func (l *Loop) takeKind(kind Kind) {
	wanted := map[AssetKey]bool{}
	for _, asset := range kind.wanted(l.pods()) {
		wanted[asset.Key] = true
		t, ok := l.tended[asset.Key]
		switch {
		case !ok:
			t = &Tended{AssetTrack: NewAssetTrack(kind, asset), cancels: map[string]func(){}}
			l.tended[asset.Key], l.untended[asset.Key] = t, true
		case t.Intend(asset) || t.dropped:
			l.untended[asset.Key] = true
		}
		t.dropped = false
	}
	for _, t := range l.assetsOf(kind) {
		if !wanted[t.asset.Key] {
			l.dropAsset(t)
		}
	}
}

// assetsOf returns the assets of a kind that are followed, in order.
func (l *Loop) assetsOf(kind Kind) []*Tended {
	return slices.DeleteFunc(l.Assets(), func(t *Tended) bool { return t.asset.Key.Kind != kind.name() })
}

// pods returns the pods that are followed, in order.
func (l *Loop) pods() iter.Seq[*node.Pod] {
	return func(yield func(*node.Pod) bool) {
		for _, key := range inOrder(l.tracks) {
			if !yield(l.tracks[key].Slot().Pod) {
				return
			}
		}
	}
}

// dropAsset gives up an asset. Its track stays until nothing is in flight: a new track could begin the same action a
// second time.
func (l *Loop) dropAsset(t *Tended) {
	t.dropped = true
	for _, target := range t.targets() {
		t.cancels[target]()
	}
	if t.Idle() && l.tended[t.asset.Key] == t { // a look may end after another track has taken its place
		delete(l.tended, t.asset.Key)
		delete(l.untended, t.asset.Key)
		l.due.set(time.Time{}, t.asset.Key)
	}
}

// tend gives a turn to every asset that is marked for one.
func (l *Loop) tend(now time.Time) {
	for _, key := range slices.SortedFunc(maps.Keys(l.untended), AssetKey.Compare) {
		delete(l.untended, key)
		t := l.tended[key]
		if t.dropped {
			continue
		}
		turn := t.Next(l.ready(), now)
		if turn.Observe {
			l.find(t)
		}
		for _, a := range turn.Actions {
			t.Begin(a)
			t.cancels[a.Target()] = l.Hands.Tend(t, a)
		}
		l.due.set(turn.Wake, key)
	}
}

// tendAll marks every asset for a turn.
func (l *Loop) tendAll() {
	for key := range l.tended {
		l.untended[key] = true
	}
}

// find looks at an asset, unless a look is under way.
func (l *Loop) find(t *Tended) {
	if !t.looking {
		t.looking = true
		l.Hands.Find(t, l.Stamp())
	}
}

// findAll looks at all assets: one may have changed without an event.
func (l *Loop) findAll() {
	for _, t := range l.Assets() {
		l.find(t)
	}
}

// FinishAsset folds the outcome of an action into its asset.
func (l *Loop) FinishAsset(t *Tended, o Outcome) {
	o.Mark = l.Stamp()
	delete(t.cancels, o.Action.Target())
	t.Done(o)
	l.happened(t, true)
	if t.dropped {
		l.takeKind(t.kind) // what the action has left may have to go
	}
}

// Found takes the result of a look at an asset. A track that refuses it and is still unsure looks again once its own
// effects are over.
func (l *Loop) Found(t *Tended, s AssetSighting, now time.Time) {
	t.looking = false
	l.happened(t, t.See(s, now))
}

// happened gives an asset its turn. If its state is news, the pods that use it retry at once.
func (l *Loop) happened(t *Tended, news bool) {
	if t.dropped {
		l.dropAsset(t)
		return
	}
	l.untended[t.asset.Key] = true
	for _, key := range t.asset.Users {
		if user, ok := l.tracks[key]; ok && news {
			user.Retry()
			l.dirty[key] = true
		}
	}
}
