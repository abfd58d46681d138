package intake

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/manifest"
	"nodal/node/store"
)

// known gives a pod of a file or URL the UID under which it is there already. Another kubelet, or an earlier version of
// this one, derives another UID from the same manifest, and the pod must not be made again for that. What runs counts
// more than a record: another kubelet may have run since it was written.
func (in Intake) known(tx *store.Tx, d Delivery) Delivery {
	if len(d.Aliases) == 0 {
		return d
	}
	key := node.KeyOf(d.Pod)
	held, gone := in.holder(tx, key)
	uids := slices.Concat([]types.UID{d.Pod.UID}, d.Aliases)
	uids = slices.DeleteFunc(uids, func(uid types.UID) bool { return uid == gone && uid != d.Pod.UID })
	if i := slices.Index(uids, held); i > 0 {
		uids = slices.Concat([]types.UID{held}, slices.Delete(uids, i, i+1))
	}
	uid := uids[0]
	if i := slices.IndexFunc(uids, func(uid types.UID) bool { return in.runs(key, uid) }); i > 0 {
		uid = uids[i]
	}
	if uid != d.Pod.UID {
		d.Pod = d.Pod.DeepCopy()
		d.Pod.UID = uid
		d.Pod.Annotations[manifest.AnnotationHash] = string(uid)
	}
	return d
}

// runs reports whether the runtime has shown a pod to run, with or without a record.
func (in Intake) runs(key node.Key, uid types.UID) bool {
	_, runs := in.Store.Ran(key, uid)
	return runs
}

// holder returns the UID of this source's pod at a key, and of one that is being deleted there.
func (in Intake) holder(tx *store.Tx, key node.Key) (held, gone types.UID) {
	slot := tx.Get(key)
	switch {
	case slot == nil:
		return "", ""
	case heir(slot).Deletion != nil:
		return "", heir(slot).UID()
	case heir(slot).Source != in.Source:
		return "", ""
	}
	return heir(slot).UID(), ""
}
