package reconciler

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// sweepEvery is how soon what a crash has left is found, after the start.
const sweepEvery = 5 * time.Minute

// sweep removes the cgroups and volumes of pods that nobody knows.
func (r *Reconciler) sweep(ctx context.Context) {
	if r.sweeping.Load() {
		return
	}
	seen, due := r.loop.Sweep(r.Act.Clock())
	if !due {
		return
	}
	r.sweeping.Store(true)
	go func() {
		defer r.sweeping.Store(false)
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
