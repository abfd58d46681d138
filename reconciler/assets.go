package reconciler

import (
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/storage"
)

// assets holds the tracks of the node's assets.
type assets struct {
	tended   map[node.AssetKey]*Tended
	untended map[node.AssetKey]bool // those that get a turn next
	due      alarms[node.AssetKey]
	plugged  int64 // revision of the board of plugins that was taken
}

// Tended is the track of an asset, with the loop's own notes on it.
type Tended struct {
	*AssetTrack

	cancels map[string]func() // of actions in flight, by target
	looking bool
	dropped bool // it is wanted no longer, and goes once nothing is in flight
}

// AssetSighting is the result of a look at an asset.
type AssetSighting struct {
	Began node.Mark
	node.AssetLook
	Err error
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
		tended: map[node.AssetKey]*Tended{}, untended: map[node.AssetKey]bool{},
		due: alarms[node.AssetKey]{due: map[node.AssetKey]time.Time{}},
	}
}

// Assets returns the assets that are followed, in order.
func (l *Loop) Assets() []*Tended {
	var all []*Tended
	for _, key := range slices.SortedFunc(maps.Keys(l.tended), node.AssetKey.Compare) {
		all = append(all, l.tended[key])
	}
	return all
}

// takeAssets brings the tracks of assets up to what is needed now.
func (l *Loop) takeAssets() {
	wanted := map[node.AssetKey]bool{}
	for _, asset := range l.wantedAssets() {
		wanted[asset.Key] = true
		t, ok := l.tended[asset.Key]
		switch {
		case !ok:
			t = &Tended{AssetTrack: NewAssetTrack(asset), cancels: map[string]func(){}}
			l.tended[asset.Key], l.untended[asset.Key] = t, true
		case t.Intend(asset) || t.dropped:
			l.untended[asset.Key] = true
		}
		t.dropped = false
	}
	for _, t := range l.Assets() {
		if !wanted[t.asset.Key] {
			l.dropAsset(t)
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
	if t.Idle() {
		delete(l.tended, t.asset.Key)
		delete(l.untended, t.asset.Key)
		l.due.set(time.Time{}, t.asset.Key)
	}
}

// wantedAssets derives the assets that are needed from the objects and the pods.
func (l *Loop) wantedAssets() (wanted []node.Asset) {
	volumes, _ := l.Store.Objects(node.PersistentVolume)
	for _, o := range volumes {
		if storage.Doomed(o.Volume()) {
			key := node.AssetKey{Kind: node.ReleasedVolume, Name: string(o.Volume().UID)}
			wanted = append(wanted, node.Asset{Key: key, Volume: o.Volume(), Users: l.usersOf(o.Volume())})
		}
	}
	return append(wanted, l.wantedPlugins()...)
}

// shared reports whether an asset is followed that pods may use.
func (l *Loop) shared() bool {
	for key := range l.tended {
		if key.Kind == node.ReleasedVolume {
			return true
		}
	}
	return false
}

// usersOf returns the pods that use the claim to which a volume was given. A later claim of the same name does not
// count.
func (l *Loop) usersOf(v *corev1.PersistentVolume) (users []node.Key) {
	of := v.Spec.ClaimRef
	if of == nil {
		return nil
	}
	held, ok := l.Store.Object(node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: of.Namespace, Name: of.Name})
	if !ok || held.Claim().UID != of.UID {
		return nil
	}
	for _, key := range inOrder(l.tracks) {
		pod := l.tracks[key].Slot().Pod.Object
		uses := func(v corev1.Volume) bool {
			name, ok := node.ClaimName(pod, &v)
			return ok && name == of.Name && pod.Namespace == of.Namespace
		}
		if slices.ContainsFunc(pod.Spec.Volumes, uses) {
			users = append(users, key)
		}
	}
	return users
}

// tend gives a turn to every asset that is marked for one.
func (l *Loop) tend(now time.Time) {
	for _, key := range slices.SortedFunc(maps.Keys(l.untended), node.AssetKey.Compare) {
		delete(l.untended, key)
		t := l.tended[key]
		if t.dropped {
			continue
		}
		turn := t.Next(now)
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
}

// Found takes the result of a look at an asset. A track that refuses it and is still unsure looks again once its own
// effects are over.
func (l *Loop) Found(t *Tended, s AssetSighting, now time.Time) {
	t.looking = false
	before := t.Got().AssetLook
	t.See(s, now)
	l.happened(t, !reflect.DeepEqual(t.Got().AssetLook, before))
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
