package intake

import (
	"maps"
	"slices"
	"time"

	"nodal/node"
	"nodal/node/store"
)

// Resume lets the pods run again that a shutdown of the machine has halted, and then admits those that it has kept
// out.
func (in Intake) Resume(now time.Time) error {
	_, err := in.Store.Transact(func(tx *store.Tx) error {
		slots := maps.Collect(tx.All())
		keys := slices.SortedFunc(maps.Keys(slots), node.Key.Compare)
		for _, key := range keys {
			slot := slots[key]
			if t := slot.Termination; t.ForShutdown() && t.Returns && slot.Result == nil && !slot.Newer {
				next := *slot
				next.Termination = nil
				tx.Put(key, &next)
			}
		}
		for _, key := range keys { // they find what all others hold
			switch slot := tx.Get(key); {
			case slot.Newer:
			case keptOut(slot.Next):
				next := *slot
				next.Next = in.admitAgain(tx, slot.Next, now)
				tx.Put(key, &next)
			case slot.Next == nil && slot.Pod.Deletion == nil && keptOut(slot.Pod):
				tx.Put(key, node.NewSlot(in.admitAgain(tx, slot.Pod, now)))
			}
		}
		return nil
	})
	return err
}

// keptOut reports whether a pod was refused only because the machine was shutting down. A pod of a cluster stays
// refused: the cluster makes another one.
func keptOut(pod *node.Pod) bool {
	refused := pod != nil && pod.Refused != nil && pod.Refused.Reason == node.NodeShutdown
	return refused && pod.WantedBy() != node.SourceCluster
}

// admitAgain admits or refuses a pod as if it were posted now.
func (in Intake) admitAgain(tx *store.Tx, old *node.Pod, now time.Time) *node.Pod {
	pod := *old
	pod.Refused, pod.Accepted = nil, now
	in.admit(tx, &pod, &Outcome{}, now)
	return &pod
}
