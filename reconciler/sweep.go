package reconciler

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// sweepEvery is the interval between two searches for remains of unknown pods.
const sweepEvery = 5 * time.Minute

// swept lists the facilities in the order of a sweep. The directory of a pod goes last, with its volumes: it shows that the
// pod's cgroup and logs are this node's.
var swept = [...]node.Facility{node.Cgroup, node.Logs, node.Volumes}

// sweep removes the cgroups, volumes and logs of pods that are not known, such as a crash leaves.
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
		keep := r.keep(seen)
		for _, f := range swept {
			sweep := r.Act.facility(f).sweep
			if sweep == nil {
				continue
			}
			if err := sweep(ctx, keep); err != nil && ctx.Err() == nil {
				r.Log.Warn("cannot remove the remains of deleted pods", "kind", f.String(), "err", err)
			}
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
