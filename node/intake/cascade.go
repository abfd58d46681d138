package intake

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// ObjectDeletion asks that an object goes.
type ObjectDeletion struct {
	Ref         node.ObjectRef
	UID         types.UID                  // only this object, when set
	Since       *int64                     // it must not have changed after this revision
	Propagation metav1.DeletionPropagation // what becomes of the pods of a workload; empty means that they go too
}

// EndObject forgets an object that pods use. A pod keeps what it has read of a ConfigMap or Secret, and its volumes stay
// until it is gone. What belongs to a workload goes in the same transaction, so that no crash can leave it behind.
func (in Intake) EndObject(r ObjectDeletion, now time.Time) error {
	_, err := in.Store.Transact(func(tx *store.Tx) error {
		if err := in.unchanged(r.Since, place{ref: r.Ref}); err != nil {
			return err
		}
		old := tx.Object(r.Ref)
		if old != nil && r.UID != "" && r.UID != old.Meta().UID {
			return fmt.Errorf("%s has uid %s, not %s: %w", r.Ref, old.Meta().UID, r.UID, node.ErrConflict)
		}
		if ended, err := in.endObject(tx, r.Ref, r.Propagation, now); err != nil {
			return err
		} else if !ended {
			return fmt.Errorf("%s: %w", r.Ref, node.ErrNotFound)
		}
		if ofStorage(r.Ref) {
			in.Storage.SettleIn(tx, now)
		}
		return nil
	})
	return err
}

// DeleteObject is EndObject without conditions.
func (in Intake) DeleteObject(ref node.ObjectRef, now time.Time) error {
	return in.EndObject(ObjectDeletion{Ref: ref}, now)
}

// endObject forgets an object. A volume or a claim that is in use is forgotten once it no longer is, and a workload whose
// pods shall go first once they are gone. It reports whether the object was there.
func (in Intake) endObject(tx *store.Tx, ref node.ObjectRef, how metav1.DeletionPropagation, now time.Time) (bool, error) {
	old := tx.Object(ref)
	if old == nil {
		return false, nil
	}
	if err := in.others(old); err != nil {
		return false, err
	}
	tx.Reserved()
	switch {
	case ref.Kind.Workload():
		return true, in.endWorkload(tx, old, how, now, map[types.UID]bool{})
	case !ofStorage(ref):
		tx.DropObject(ref)
	case old.Meta().DeletionTimestamp == nil:
		tx.PutObject(ending(old, now))
	}
	return true, nil
}

// ending returns an object with the mark that it goes.
func ending(old *node.Object, now time.Time) *node.Object {
	marked := old.Clone()
	at := metav1.NewTime(now.Truncate(time.Second))
	marked.Meta().DeletionTimestamp = &at
	return marked
}

// endWorkload ends a workload, with all that belongs to it or without. It passes by those that it has met: owners may stand
// in a ring.
func (in Intake) endWorkload(tx *store.Tx, old *node.Object, how metav1.DeletionPropagation, now time.Time, met map[types.UID]bool) error {
	uid := old.Meta().UID
	if met[uid] {
		return nil
	}
	met[uid] = true
	objects, pods := objectsOf(tx, uid), podsOf(tx, uid)
	if how == metav1.DeletePropagationOrphan {
		release(tx, uid, objects, pods)
		tx.DropObject(old.Ref())
		return nil
	}
	for _, o := range objects {
		if err := in.endWorkload(tx, o, how, now, met); err != nil {
			return err
		}
	}
	if err := in.endClaims(tx, old, now); err != nil {
		return err
	}
	in.Source = node.SourceAPI // over which its pods came, wherever the workload did
	for _, p := range pods {
		if err := in.deleteOne(tx, DeleteRequest{Key: p.Key(), UID: p.UID()}, "deleted", now); err != nil {
			return err
		}
	}
	if how != metav1.DeletePropagationForeground || len(objects)+len(pods) == 0 {
		tx.DropObject(old.Ref())
		return nil
	}
	if old.Meta().DeletionTimestamp == nil {
		marked := ending(old, now)
		marked.Meta().Finalizers = []string{metav1.FinalizerDeleteDependents}
		tx.PutObject(marked)
	}
	return nil
}

// endClaims has the claims of a StatefulSet go with it, if it says so. Those that pods use go when these are gone.
func (in Intake) endClaims(tx *store.Tx, old *node.Object, now time.Time) error {
	set := node.As[*appsv1.StatefulSet](old)
	if set == nil || set.Spec.PersistentVolumeClaimRetentionPolicy == nil ||
		set.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted != appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		return nil
	}
	in.Source = node.SourceAPI
	ended := false
	for _, o := range tx.Objects(node.PersistentVolumeClaim) {
		if !node.SetClaims(set, o.Claim()) {
			continue
		}
		if _, err := in.endObject(tx, o.Ref(), "", now); err != nil {
			return err
		}
		ended = true
	}
	if ended {
		in.Storage.SettleIn(tx, now)
	}
	return nil
}

// objectsOf returns the workloads and their parts that belong to another workload.
func objectsOf(tx *store.Tx, uid types.UID) (found []*node.Object) {
	for _, kind := range node.Kinds() {
		if !kind.Workload && !kind.Part {
			continue
		}
		for _, o := range tx.Objects(kind.Name) {
			if owner := node.Owner(o.Meta()); owner != nil && owner.UID == uid {
				found = append(found, o)
			}
		}
	}
	return found
}

// podsOf returns the pods of the API that belong to a workload, with those that wait for their names.
func podsOf(tx *store.Tx, uid types.UID) (found []*node.Pod) {
	for _, slot := range tx.All() {
		for _, pod := range []*node.Pod{slot.Pod, slot.Next} {
			if pod == nil || pod.Source != node.SourceAPI {
				continue
			}
			if owner := node.Owner(pod.Object); owner != nil && owner.UID == uid {
				found = append(found, pod)
			}
		}
	}
	return found
}

// release has objects and pods belong to nothing any more.
func release(tx *store.Tx, uid types.UID, objects []*node.Object, pods []*node.Pod) {
	without := func(owners []metav1.OwnerReference) []metav1.OwnerReference {
		return slices.DeleteFunc(slices.Clone(owners), func(o metav1.OwnerReference) bool { return o.UID == uid })
	}
	for _, o := range objects {
		free := o.Clone()
		free.Meta().OwnerReferences = without(o.Meta().OwnerReferences)
		tx.PutObject(free)
	}
	for _, p := range pods {
		slot, free := *tx.Get(p.Key()), *p
		free.Object = p.Object.DeepCopy()
		free.Object.OwnerReferences = without(p.Object.OwnerReferences)
		if slot.Pod == p {
			slot.Pod = &free
		} else {
			slot.Next = &free
		}
		tx.Put(p.Key(), &slot)
	}
}
