package reconciler

import (
	"context"
	"iter"
	"time"

	"nodal/node"
	"nodal/reconciler/decide"
)

// KindOf declares one kind of asset, with all that the loop knows of it. W is what is wanted of such an asset, and L
// what a look at it shows.
type KindOf[W, L any] struct {
	Name string
	// Wanted returns the assets of the kind that are needed now. pods are all pods of the node, in order.
	Wanted func(pods iter.Seq[*node.Pod]) []Wanted[W]
	// OfPods says that pods alone may make such an asset. Otherwise a change of pods matters only while there is one.
	OfPods bool
	// Boards ring when something has changed that Wanted reads besides objects and pods, or that a look shows.
	Boards []Board
	// Look shows what is there of an asset.
	Look func(ctx context.Context, want W) (L, error)
	// Plan decides what is done next, and is pure.
	Plan func(decide.Asset[W, L]) decide.Plan
	// Do performs one of the actions of a plan. Its errors mean the same as those of Act.Do.
	Do func(ctx context.Context, a node.Action) error
	// Leaves returns what a look would show after an action that succeeded, if that is certain. The asset is looked
	// at after all other actions. nil means after each.
	Leaves func(a node.Action) (left L, certain bool)
}

// Wanted is an asset of a kind, as it is wanted now. It follows from what pods and objects need; no record is kept.
type Wanted[W any] struct {
	Name  string
	Users []node.Key // pods that use it or wait for it, in order
	Want  W
}

// Board tells of changes on the machine.
type Board interface {
	// Revision returns a number that grows with each change.
	Revision() int64
	// Changed returns a channel that is closed at the next change.
	Changed() <-chan struct{}
}

// Kind is a kind of asset as the loop knows it, whatever it is about. Each is a KindOf.
type Kind interface {
	name() string
	ofPods() bool
	boards() []Board
	wanted(pods iter.Seq[*node.Pod]) []Asset
	unseen() any // the look before the first one
	lookAt(ctx context.Context, a Asset) (any, error)
	plan(t *AssetTrack, sure bool, now time.Time) decide.Plan
	do(ctx context.Context, a node.Action) error
	leaves(a node.Action) (any, bool)
}

func (k KindOf[W, L]) name() string    { return k.Name }
func (k KindOf[W, L]) ofPods() bool    { return k.OfPods }
func (k KindOf[W, L]) boards() []Board { return k.Boards }

func (k KindOf[W, L]) wanted(pods iter.Seq[*node.Pod]) (all []Asset) {
	for _, w := range k.Wanted(pods) {
		all = append(all, Asset{Key: AssetKey{Kind: k.Name, Name: w.Name}, Users: w.Users, Want: w.Want})
	}
	return all
}

func (k KindOf[W, L]) unseen() any {
	var nothing L
	return nothing
}

func (k KindOf[W, L]) lookAt(ctx context.Context, a Asset) (any, error) {
	return k.Look(ctx, a.Want.(W))
}

func (k KindOf[W, L]) plan(t *AssetTrack, sure bool, now time.Time) decide.Plan {
	return k.Plan(decide.Asset[W, L]{
		Want: t.asset.Want.(W), Users: t.asset.Users, Sure: sure, Look: t.look.(L), Faults: t.faults, Now: now,
	})
}

func (k KindOf[W, L]) do(ctx context.Context, a node.Action) error { return k.Do(ctx, a) }

func (k KindOf[W, L]) leaves(a node.Action) (any, bool) {
	if k.Leaves == nil {
		return nil, false
	}
	return k.Leaves(a)
}
