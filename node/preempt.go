package node

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// What Kubernetes says of a pod that has to end for a critical one.
const (
	Preempting       = "Preempting"
	PreemptedMessage = "Preempted in order to admit critical pod"
)

// Life is one pod from its acceptance on: its UID may come back.
type Life struct {
	UID      types.UID
	Accepted time.Time
}

// Life tells the pod from all others that there are or were.
func (p *Pod) Life() Life { return Life{p.UID(), p.Accepted} }

// Is compares what the journal may have kept.
func (l Life) Is(other Life) bool { return l.UID == other.UID && l.Accepted.Equal(other.Accepted) }

// waits says whether a pod of the slot waits for what another may give back.
func (s *Slot) waits() bool {
	return s.Pod.Resize != nil || len(s.Pod.Awaits) > 0 || s.Next != nil && len(s.Next.Awaits) > 0
}

// ClearWay has pods no longer wait for those that have ended for them.
func (tx *Tx) ClearWay() {
	for _, slot := range tx.stalled() {
		next := *slot
		next.Pod, next.Next = tx.cleared(slot.Pod), tx.cleared(slot.Next)
		if next.Pod != slot.Pod || next.Next != slot.Next {
			tx.Put(slot.Pod.Key(), &next)
		}
	}
}

// cleared is the pod without those that it need not wait for any more.
func (tx *Tx) cleared(pod *Pod) *Pod {
	if pod == nil || !slices.ContainsFunc(pod.Awaits, tx.ended) {
		return pod
	}
	clear := *pod
	clear.Awaits = slices.DeleteFunc(slices.Clone(pod.Awaits), tx.ended)
	return &clear
}

// ended says whether nothing of a pod runs any more, or it goes on after all because the
// record of its end was damaged.
func (tx *Tx) ended(life Life) bool {
	key, ok := tx.ByUID(life.UID)
	if !ok {
		return true
	}
	slot := tx.Get(key)
	ends := slot.Termination != nil || slot.Pod.Deletion != nil
	return slot.Result != nil || !ends || !slot.Pod.Life().Is(life)
}
