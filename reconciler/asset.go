package reconciler

import (
	"cmp"
	"context"
	"reflect"
	"time"

	"nodal/node"
)

// AssetKey names one asset of the node.
type AssetKey struct{ Kind, Name string }

func (k AssetKey) String() string { return k.Kind + "/" + k.Name }

// Compare orders keys by kind and name.
func (k AssetKey) Compare(other AssetKey) int {
	return cmp.Or(cmp.Compare(k.Kind, other.Kind), cmp.Compare(k.Name, other.Name))
}

// Asset is something on the node that does not belong to a single pod, as it is wanted now. It follows from what pods
// and objects need; no record of it is kept.
type Asset struct {
	Key   AssetKey
	Users []node.Key // pods that use it or wait for it, in order
	Want  any        // what is wanted of it, in the type of its kind
}

// AssetSighting is the result of a look at an asset.
type AssetSighting struct {
	Began node.Mark
	Look  any // in the type of its kind
	Err   error
}

// lookTarget names the target of looking at an asset.
const lookTarget = "look"

// lookRest is the pause before a look that failed is repeated.
var lookRest = node.Rest{First: time.Minute, Longest: time.Minute}

// AssetTrack follows one asset from plan to plan, as Track follows a pod.
type AssetTrack struct {
	course
	kind   Kind
	asset  Asset
	mark   node.Mark             // when the last look began
	look   any                   // what it showed
	faults map[string]node.Fault // by action target
}

// NewAssetTrack starts to follow an asset. It looks first: an agent that died may have left the asset in any state.
func NewAssetTrack(kind Kind, asset Asset) *AssetTrack {
	return &AssetTrack{
		course: newCourse(true), kind: kind, asset: asset, look: kind.unseen(), faults: map[string]node.Fault{},
	}
}

// Asset returns what is wanted.
func (t *AssetTrack) Asset() Asset { return t.asset }

// Do carries an action out, and Look looks at what was wanted at some time.
func (t *AssetTrack) Do(ctx context.Context, a node.Action) error { return t.kind.do(ctx, a) }
func (t *AssetTrack) Look(ctx context.Context, a Asset) (any, error) {
	return t.kind.lookAt(ctx, a)
}

// Intend takes what is wanted now and reports whether that is news. News drops all faults, so that actions are
// retried at once.
func (t *AssetTrack) Intend(asset Asset) (news bool) {
	if reflect.DeepEqual(t.asset, asset) {
		return false
	}
	t.asset = asset
	clear(t.faults)
	return true
}

// See takes a look, unless it may show a past state, and reports whether it shows news. A look that failed counts as a
// fault, and is repeated after a pause.
func (t *AssetTrack) See(s AssetSighting, now time.Time) (news bool) {
	if t.refuses(s.Began, t.mark) {
		return false
	}
	if s.Err != nil {
		t.faults[lookTarget] = faultOf(t.faults[lookTarget], s.Err, lookRest, now)
		t.unsure = true
		return false
	}
	delete(t.faults, lookTarget)
	news = !reflect.DeepEqual(t.look, s.Look)
	t.mark, t.look = s.Began, s.Look
	t.took(s.Began)
	return news
}

// Next decides what to do. sure says that every pod source has delivered. It returns an empty turn while an effect is
// under way.
func (t *AssetTrack) Next(sure bool, now time.Time) Turn {
	if t.acting() {
		return Turn{}
	}
	if t.unsure {
		if fault, failed := t.faults[lookTarget]; failed && now.Before(fault.Retry) {
			return Turn{Wake: fault.Retry, Why: fault.Reason}
		}
		return Turn{Observe: true}
	}
	plan := t.kind.plan(t, sure, now)
	return Turn{Actions: t.idle(plan.Actions), Wake: plan.Wake, Why: plan.Why}
}

// Done folds the outcome of an action into what is known.
func (t *AssetTrack) Done(o Outcome) {
	if !t.ended(o) {
		return
	}
	target := o.Action.Target()
	if o.Err != nil {
		t.faults[target] = faultOf(t.faults[target], o.Err, restOf(o.Action), o.Now)
		return
	}
	delete(t.faults, target)
	if left, known := t.kind.leaves(o.Action); known {
		t.look = left
	} else {
		t.Doubt(o.Mark)
	}
}
