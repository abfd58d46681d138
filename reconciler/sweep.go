package reconciler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// sweepEvery is the interval between two searches for remains of unknown pods.
const sweepEvery = 5 * time.Minute

// swept lists the facilities in the order of a sweep. The directory of a pod goes last, with its volumes: it shows that the
// pod's cgroup and logs are this node's.
var swept = [...]node.Facility{node.Cgroup, node.Logs, node.Volumes}

// A Sweep removes what is left of unknown pods, one facility after the other. A sweep that ends in the middle leaves
// nothing that the next one does not find.
type Sweep struct {
	act  Act
	keep func(types.UID) bool
	stay map[types.UID]bool // pods of which something could not be removed
	next int                // of swept
}

// NewSweep returns a sweep of the pods for which keep is false.
func (a Act) NewSweep(keep func(types.UID) bool) *Sweep {
	return &Sweep{act: a, keep: keep, stay: map[types.UID]bool{}}
}

// Step sweeps the next facility, and reports whether others follow. A pod of which something stays keeps the rest. If a
// facility cannot tell of which pods it has something, the sweep ends there.
func (s *Sweep) Step(ctx context.Context) (more bool, err error) {
	of := swept[s.next]
	s.next++
	more = s.next < len(swept)
	sweep := s.act.facility(of).sweep
	if sweep == nil {
		return more, nil
	}
	err = sweep(ctx, func(uid types.UID) bool { return s.stay[uid] || s.keep(uid) })
	if err == nil {
		return more, nil
	}
	remains, known := errors.AsType[node.RemainsError](err)
	for uid := range remains {
		s.stay[uid] = true
	}
	return more && known, fmt.Errorf("remove the remains of deleted pods (%s): %w", of, err)
}

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
		sweep := r.Act.NewSweep(r.keep(seen))
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = sweep.Step(ctx); err != nil && ctx.Err() == nil {
				r.Log.Warn("a sweep leaves something to the next one", "err", err)
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
