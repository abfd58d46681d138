package reconciler

import (
	"context"
	"iter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// prefer asks the plugin of a resource which devices a container shall have, and exchanges those of its record for them.
// The plugin is asked outside of any transaction, so only this pod waits for it. What it answers counts as far as it is
// available when it is written down; without an answer the container keeps what it has.
func (a Act) prefer(ctx context.Context, key node.Key, uid types.UID, container string, resource corev1.ResourceName) error {
	slot := a.slotOf(key, uid)
	if a.Rules == nil || slot == nil || !a.Devices.Prefers(resource) {
		return nil
	}
	views, _ := a.Store.Views()
	choice, ok := a.Rules().Choice(slot.Pod.Shares, container, resource, others(key, slotsOf(views)), settled(slot.Pod))
	if !ok {
		return nil
	}
	wish, err := a.Devices.Prefer(ctx, choice)
	if err != nil {
		return nil // the adapter reports it
	}
	return a.Store.Update(key, uid, func(tx *store.Tx, slot *node.Slot) {
		rules := a.Rules()
		choice, ok := rules.Choice(slot.Pod.Shares, container, resource, others(key, tx.All()), settled(slot.Pod))
		if !ok {
			return
		}
		if shares, changed := rules.Exchange(slot.Pod.Shares, choice, wish); changed {
			pod := *slot.Pod
			pod.Shares = shares
			slot.Pod = &pod
			tx.Put(key, slot)
		}
	})
}

// slotOf returns the slot of a pod, or nil if another pod owns the key.
func (a Act) slotOf(key node.Key, uid types.UID) *node.Slot {
	if v, ok := a.Store.View(key); ok && v.Slot != nil && v.Slot.Pod.UID() == uid {
		return v.Slot
	}
	return nil
}

func slotsOf(views []store.View) iter.Seq2[node.Key, *node.Slot] {
	return func(yield func(node.Key, *node.Slot) bool) {
		for _, v := range views {
			if !yield(v.Key, v.Slot) {
				return
			}
		}
	}
}

// others returns what all pods hold but the one that owns a key.
func others(key node.Key, slots iter.Seq2[node.Key, *node.Slot]) (held []node.Shares) {
	for other, slot := range slots {
		switch {
		case other != key:
			held = append(held, slot.Shares()...)
		case slot.Next != nil:
			held = append(held, slot.Next.Shares)
		}
	}
	return held
}

// settled tells which containers of a pod keep their devices: plugins have granted these.
func settled(pod *node.Pod) func(container string) bool {
	return func(container string) bool {
		_, granted := pod.Grants[container]
		return granted
	}
}
