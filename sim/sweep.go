package sim

import (
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// errDied ends a sweep whose agent has died in the middle.
var errDied = errors.New("the agent has died")

// sweep removes what unknown pods have, pod by pod. Between two of them the agent may die, and a removal may fail.
func sweep[V any](w *world, what string, has map[types.UID]V, keep func(types.UID) bool, remove func(types.UID) error) error {
	stay := node.RemainsError{}
	for _, uid := range slices.Sorted(maps.Keys(has)) {
		if keep(uid) {
			continue
		}
		if err := w.amid(); errors.Is(err, errDied) {
			return err
		} else if err != nil {
			stay[uid] = err
			continue
		}
		w.trace.addf("agent: sweeps the %s of %s", what, uid)
		if err := remove(uid); err != nil {
			stay[uid] = err
		}
	}
	return stay.Err()
}

// harmSweep lets a sweep fail for one pod, or kills its agent. It has its own random source, so that it does not change
// the rest of the run.
func (s *simulation) harmSweep() error {
	switch {
	case s.faults.rate[Crash] > 0 && s.sweeps.IntN(6) == 0:
		s.met.addf("death: in the middle of a sweep")
		s.crash("in the middle of a sweep")
		return errDied
	case s.faults.rate[Refuse] > 0 && s.sweeps.IntN(6) == 0:
		s.met.addf("sweep: something stays")
		return errors.New("the disk: it is busy")
	}
	return nil
}
