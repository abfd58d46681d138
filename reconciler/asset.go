package reconciler

import (
	"reflect"
	"time"

	"nodal/node"
	"nodal/reconciler/decide"
)

// lookTarget names the target of looking at an asset.
const lookTarget = "look"

// AssetTrack follows one asset from plan to plan, as Track follows a pod.
type AssetTrack struct {
	course
	asset node.Asset
	got   *node.AssetState
}

// NewAssetTrack starts to follow an asset. It looks first: an agent that died may have left the asset in any state.
func NewAssetTrack(asset node.Asset) *AssetTrack {
	return &AssetTrack{course: newCourse(true), asset: asset, got: &node.AssetState{}}
}

// Asset returns what is wanted, and Got what is known.
func (t *AssetTrack) Asset() node.Asset     { return t.asset }
func (t *AssetTrack) Got() *node.AssetState { return t.got }

// Intend takes what is wanted now and reports whether that is news. News drops all faults, so that actions are
// retried at once.
func (t *AssetTrack) Intend(asset node.Asset) (news bool) {
	if reflect.DeepEqual(t.asset, asset) {
		return false
	}
	t.asset, t.got = asset, t.got.Clone()
	t.got.Faults = nil
	return true
}

// See takes a look that began at a mark, unless it may show a past state. A look that failed counts as a fault, and is
// repeated after a pause.
func (t *AssetTrack) See(s AssetSighting, now time.Time) bool {
	if t.refuses(s.Began, t.got.Mark) {
		return false
	}
	t.got = t.got.Clone()
	if s.Err != nil {
		fault := faultOf(t.got.Faults[lookTarget], s.Err, node.AssetRest, now)
		t.got.Faults = withFault(t.got.Faults, lookTarget, fault)
		t.unsure = true
		return false
	}
	delete(t.got.Faults, lookTarget)
	t.got.Mark, t.got.AssetLook = s.Began, s.AssetLook
	t.took(s.Began)
	return true
}

// Next decides what to do. It returns an empty turn while an effect is under way.
func (t *AssetTrack) Next(now time.Time) Turn {
	if t.acting() {
		return Turn{}
	}
	if t.unsure {
		if fault, failed := t.got.Faults[lookTarget]; failed && now.Before(fault.Retry) {
			return Turn{Wake: fault.Retry, Why: fault.Reason}
		}
		return Turn{Observe: true}
	}
	plan := decide.Asset(decide.AssetInput{Asset: t.asset, Got: t.got, Now: now})
	return Turn{Actions: t.idle(plan.Actions), Wake: plan.Wake, Why: plan.Why}
}

// Done folds the outcome of an action into what is known.
func (t *AssetTrack) Done(o Outcome) {
	if !t.ended(o) {
		return
	}
	t.got = t.got.Clone()
	target := o.Action.Target()
	if o.Err != nil {
		t.got.Faults = withFault(t.got.Faults, target, faultOf(t.got.Faults[target], o.Err, restOf(o.Action), o.Now))
		return
	}
	delete(t.got.Faults, target)
	if a, ok := o.Action.(node.AssetAction); ok {
		a.Fold(&t.got.AssetLook)
	} else {
		t.Doubt(o.Mark)
	}
}
