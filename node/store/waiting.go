package store

import (
	"cmp"
	"maps"
	"slices"

	"nodal/node"
)

// Waiting returns the slots whose pods wait for resources, the oldest pod first.
func (tx *Tx) Waiting() []*node.Slot {
	waiting := slices.DeleteFunc(tx.stalled(), func(slot *node.Slot) bool {
		return slot.Pod.Resize == nil || slot.Pod.Deletion != nil || slot.Result != nil
	})
	slices.SortFunc(waiting, func(a, b *node.Slot) int {
		return cmp.Or(a.Pod.Accepted.Compare(b.Pod.Accepted), cmp.Compare(a.Pod.UID(), b.Pod.UID()))
	})
	return waiting
}

// stalled returns the slots of pods that wait for what other pods may give back.
func (tx *Tx) stalled() []*node.Slot {
	tx.store.mu.RLock()
	keys := slices.Collect(maps.Keys(tx.store.waiting))
	tx.store.mu.RUnlock()
	var stalled []*node.Slot
	for _, key := range keys {
		if slot := tx.Get(key); slot != nil && !slot.Newer {
			stalled = append(stalled, slot)
		}
	}
	return stalled
}

// ClearWay ends the wait of pods for others that have ended for them.
func (tx *Tx) ClearWay() {
	for _, slot := range tx.stalled() {
		next := *slot
		next.Pod, next.Next = tx.cleared(slot.Pod), tx.cleared(slot.Next)
		if next.Pod != slot.Pod || next.Next != slot.Next {
			tx.Put(slot.Pod.Key(), &next)
		}
	}
}

// cleared returns the pod without the pods that it need not wait for any more.
func (tx *Tx) cleared(pod *node.Pod) *node.Pod {
	if pod == nil || !slices.ContainsFunc(pod.Awaits, tx.ended) {
		return pod
	}
	clear := *pod
	clear.Awaits = slices.DeleteFunc(slices.Clone(pod.Awaits), tx.ended)
	return &clear
}

// ended reports whether no part of a pod runs any more. It is also true for a pod that goes on
// after all because the record of its end was damaged.
func (tx *Tx) ended(life node.Life) bool {
	key, ok := tx.ByUID(life.UID)
	if !ok {
		return true
	}
	slot := tx.Get(key)
	ends := slot.Termination != nil || slot.Pod.Deletion != nil
	return slot.Result != nil || !ends || !slot.Pod.Life().Is(life)
}
