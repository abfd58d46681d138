package intake

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// keep gives a pod that runs what it has by the word of another kubelet. Without that it gets what is free: a pod that
// runs is not refused.
func (in Intake) keep(tx *store.Tx, pod *node.Pod) {
	rules := in.offered().Assign
	if rules != nil {
		pod.Shares, _ = rules.Pod(pod.Object, slices.Concat(preemption{}.held(tx, pod.Key()), in.awaited(tx, pod.UID())))
	}
	before, ok := in.Before[pod.UID()]
	if !ok {
		return
	}
	if pod.Shares, ok = rules.Keep(pod.Object, pod.Shares, before.Shares, in.heldByRunning(tx, pod.Key())); ok && len(before.Grants) > 0 {
		pod.Grants = before.Grants
	}
}

// heldByRunning returns what other pods have that run. A record of one that does not may be outdated: another kubelet has
// ended the pod, and given to others what it had.
func (in Intake) heldByRunning(tx *store.Tx, key node.Key) (held []node.Shares) {
	for other, slot := range tx.All() {
		for _, holder := range slot.Holders() {
			if other != key && in.runs(other, holder.UID()) {
				held = append(held, holder.Shares)
			}
		}
	}
	return held
}

// awaited returns what pods other than one have that run and have no record yet: their sources have yet to bring them.
func (in Intake) awaited(tx *store.Tx, but types.UID) (held []node.Shares) {
	for uid, before := range in.Before {
		if _, known := tx.ByUID(uid); !known && uid != but && in.Store.Runs(uid) {
			held = append(held, before.Shares)
		}
	}
	return held
}
