package reconciler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/reconciler/decide"
)

// Stock holds what the loop knows of the machine at one moment, as far as something may be garbage.
type Stock struct {
	pods   []stocked
	strays map[node.Key]*node.Observed
	seen   map[types.UID]bool
	held   string    // why nothing is removed as unknown; empty if something may be
	sweep  time.Time // the next one
	keep   node.Retention
}

// stocked is a pod with what was seen of it. Both are snapshots.
type stocked struct {
	slot *node.Slot
	got  *node.Observed
}

// Stock takes stock.
func (l *Loop) Stock() Stock {
	s := Stock{
		strays: maps.Clone(l.strays), seen: l.seen(), held: l.unready(), sweep: l.swept.Add(sweepEvery), keep: l.Site.Keep(),
	}
	for _, t := range l.Tracks() {
		s.pods = append(s.pods, stocked{t.Slot(), t.Got()})
	}
	return s
}

// unready says why nothing is removed as unknown yet.
func (l *Loop) unready() string {
	switch {
	case !l.synced:
		return "the runtime has not shown its pods"
	case !l.ready():
		return fmt.Sprintf("these sources of pods have not delivered yet, and may want it: %v", slices.Sorted(maps.Keys(l.waiting)))
	}
	return ""
}

// Garbage lists what has no use on the machine any more: runs and sandboxes that the plans of pods remove, and the
// remains of unknown pods that the next sweep removes. It returns what it has found even if it fails.
func (r *Reconciler) Garbage(ctx context.Context) ([]node.Garbage, error) {
	taken := make(chan Stock, 1)
	select {
	case r.inbox <- func() { taken <- r.loop.Stock() }:
	case <-ctx.Done():
		return nil, fmt.Errorf("ask the reconciler what is known: %w", ctx.Err())
	}
	stock := <-taken
	all := stock.Runs(r.Act.Clock())
	var errs []error
	for _, f := range swept {
		left := r.Act.facility(f).garbage
		if left == nil {
			continue
		}
		found, err := left(ctx, r.keep(stock.seen))
		all = append(all, stock.dated(found)...)
		if err != nil {
			errs = append(errs, fmt.Errorf("look for the remains of deleted pods (%s): %w", f, err))
		}
	}
	return all, errors.Join(errs...)
}

// keep reports whether the remains of a pod stay. It asks the store for each pod: one may be accepted meanwhile.
func (r *Reconciler) keep(seen map[types.UID]bool) func(types.UID) bool {
	return func(uid types.UID) bool { return seen[uid] || r.Act.Store.Holds(uid) }
}

// dated says when the next sweep removes what was found, or why none does.
func (s Stock) dated(found []node.Garbage) []node.Garbage {
	for i := range found {
		switch g := &found[i]; {
		case g.Kept != "":
		case s.held != "":
			g.Kept = s.held
		default:
			g.Goes = s.sweep
		}
	}
	return found
}

// Runs lists runs and sandboxes that have ended.
func (s Stock) Runs(now time.Time) (all []node.Garbage) {
	for _, pod := range s.pods {
		all = append(all, s.of(pod, now)...)
	}
	for _, key := range inOrder(s.strays) {
		for _, box := range s.strays[key].Sandboxes {
			g := node.Garbage{Kind: node.GarbageSandbox, Name: box.ID, Key: key, Why: "the node has no record of its pod", Kept: s.held}
			all = append(all, g)
		}
	}
	return all
}

// of lists the runs and sandboxes of one pod.
func (s Stock) of(pod stocked, now time.Time) (all []node.Garbage) {
	key, rests := pod.slot.Pod.Key(), stays(pod.slot)
	add := func(g node.Garbage, removal node.Action, from time.Time) {
		fault, failed := pod.got.Faults[removal.Target()]
		g.Key = key
		switch {
		case rests != "":
			g.Kept = rests
		case failed:
			g.Kept, g.Goes = "its removal has failed: "+fault.Message, fault.Retry
		case from.After(now):
			g.Kept, g.Goes = "it is younger than --minimum-container-ttl-duration", from
		}
		all = append(all, g)
	}
	for _, e := range decide.EndedRuns(pod.got, s.keep) {
		g := node.Garbage{Kind: node.GarbageContainer, Name: e.Run.ID, Key: key, Container: e.Run.Name, Why: e.Why}
		if e.Goes {
			add(g, node.RemoveContainer{ID: e.Run.ID}, e.From)
			continue
		}
		g.Why, g.Kept = "it has ended", e.Why
		all = append(all, g)
	}
	for _, box := range decide.EmptySandboxes(pod.got) {
		add(node.Garbage{
			Kind: node.GarbageSandbox, Name: box.ID, Why: "its pod has a newer sandbox, and it has no containers",
		}, node.RemoveSandbox{ID: box.ID}, time.Time{})
	}
	return all
}

// stays says why nothing of a pod is removed before all of it.
func stays(slot *node.Slot) string {
	switch {
	case slot.Newer:
		return "a newer agent wrote the record of its pod"
	case slot.Pod.Deletion != nil:
		return "its pod is being deleted, and it goes with the pod"
	case slot.Result != nil:
		return "its pod has finished, and it goes with the pod"
	}
	return ""
}
