package reconciler

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// sweepEvery is how soon what a crash has left is found, after the start.
const sweepEvery = 5 * time.Minute

// sweeper removes what lies around for pods that nobody knows: a crash, or a
// record that was lost, leaves cgroups and volumes without a pod.
type sweeper struct {
	last time.Time
	busy atomic.Bool
}

// sweep looks for cgroups and volumes without a pod, once it is certain what pods there are.
// What may still run keeps them, wanted or not.
func (r *Reconciler) sweep(ctx context.Context) {
	now := r.Act.Clock()
	if !r.ready || !r.synced || now.Sub(r.sweeper.last) < sweepEvery || !r.sweeper.busy.CompareAndSwap(false, true) {
		return
	}
	r.sweeper.last = now
	seen := map[types.UID]bool{}
	for _, t := range r.tracks {
		noteUIDs(seen, t.Got())
	}
	for _, stray := range r.strays {
		noteUIDs(seen, stray)
	}
	go func() {
		defer r.sweeper.busy.Store(false)
		// The store is asked for each: a pod may be accepted meanwhile.
		keep := func(uid types.UID) bool { return seen[uid] || r.Act.Store.Holds(uid) }
		if r.Act.Cgroups != nil { // first: what runs in one holds on to the volumes
			if err := r.Act.Cgroups.Sweep(ctx, keep); err != nil && ctx.Err() == nil {
				r.Log.Warn("cannot remove the cgroups of pods that are gone", "err", err)
			}
		}
		if err := r.Act.Volumes.Sweep(ctx, keep); err != nil && ctx.Err() == nil {
			r.Log.Warn("cannot remove the volumes of pods that are gone", "err", err)
		}
	}()
}

func noteUIDs(seen map[types.UID]bool, got *node.Observed) {
	for i := range got.Sandboxes {
		seen[got.Sandboxes[i].UID] = true
	}
	for i := range got.Containers {
		seen[got.Containers[i].UID] = true
	}
}
