package evict

import (
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// end journals that a pod has to end; package reconciler then ends it. A pod that ends already keeps its reason.
func end(s *store.Store, key node.Key, uid types.UID, t node.Termination) (ended bool, err error) {
	err = s.Update(key, uid, func(tx *store.Tx, slot *node.Slot) {
		if slot.Closed() || slot.Pod.Deletion != nil {
			return
		}
		ended, slot.Termination = true, &t
		tx.Reserved()
		tx.Put(key, slot)
	})
	return ended && err == nil, err
}
