package intake

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"nodal/node"
	"nodal/node/storage"
	"nodal/node/store"
)

// continued returns a delivered object with what the node has written into the old one, and with the managed fields of that
// if the delivery brings none.
func continued(old, delivered *node.Object) *node.Object {
	next := delivered.Clone()
	next.Meta().UID, next.Meta().CreationTimestamp = old.Meta().UID, old.Meta().CreationTimestamp
	if next.Meta().ManagedFields == nil {
		next.Meta().ManagedFields = old.Meta().ManagedFields
	}
	switch {
	case old.Volume() != nil:
		next.Volume().Status = old.Volume().Status
		if ref := old.Volume().Spec.ClaimRef; ref != nil && ref.UID != "" {
			next.Volume().Spec.ClaimRef = ref
		}
		if storage.Made(old.Volume()) {
			next.Volume().Annotations = old.Volume().Annotations
		}
	case old.Claim() != nil:
		next.Claim().Status = old.Claim().Status
		next.Claim().OwnerReferences = old.Claim().OwnerReferences
		if next.Claim().Spec.VolumeName == "" {
			next.Claim().Spec.VolumeName = old.Claim().Spec.VolumeName
		}
	case old.Kind.Workload():
		continueWorkload(old, next)
	case old.Kind == node.Service:
		continueService(node.As[*corev1.Service](old), node.As[*corev1.Service](next))
	}
	return next
}

// permittedStorage refuses a change that would reach running pods, or that the node cannot make.
func permittedStorage(d Delivery, old *node.Object) error {
	switch {
	case old != nil && old.Meta().DeletionTimestamp != nil:
		return fmt.Errorf("%s is being deleted: %w", old.Ref(), node.ErrConflict)
	case d.Object.Volume() != nil:
		return permittedVolume(d, old)
	case d.Object.Claim() != nil && old != nil:
		return permittedClaim(d, old)
	}
	return nil
}

func permittedVolume(d Delivery, old *node.Object) error {
	made := old != nil && storage.Made(old.Volume())
	if d.Object.Volume().Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete && !made {
		return invalid(d, "spec.persistentVolumeReclaimPolicy", "must be Retain: the node removes no files but those of the volumes that it makes")
	}
	if old != nil && !sameSource(d.Object.Volume(), old.Volume()) {
		return invalid(d, "spec", "where a volume lies is immutable; delete it first")
	}
	return nil
}

// sameSource reports whether a volume lies where it did. A Secret by which it grows may be added, as in Kubernetes.
func sameSource(next, old *corev1.PersistentVolume) bool {
	is, was := next.Spec.PersistentVolumeSource, old.Spec.PersistentVolumeSource.DeepCopy()
	if is.CSI != nil && was.CSI != nil && was.CSI.NodeExpandSecretRef == nil {
		was.CSI.NodeExpandSecretRef = is.CSI.NodeExpandSecretRef
	}
	return apiequality.Semantic.DeepEqual(is, *was)
}

// permittedClaim lets a claim grow where the node has made its volume.
func permittedClaim(d Delivery, old *node.Object) error {
	was, is := old.Claim().Spec.DeepCopy(), continued(old, d.Object).Claim().Spec.DeepCopy()
	grows := is.Resources.Requests.Storage().Cmp(*was.Resources.Requests.Storage()) > 0
	was.Resources, is.Resources = corev1.VolumeResourceRequirements{}, corev1.VolumeResourceRequirements{}
	switch {
	case !apiequality.Semantic.DeepEqual(was, is):
		return invalid(d, "spec", "is immutable but for resources.requests; delete the claim first")
	case grows || apiequality.Semantic.DeepEqual(old.Claim().Spec.Resources, d.Object.Claim().Spec.Resources):
		return nil
	}
	return invalid(d, "spec.resources.requests[storage]", "may only grow")
}

func ofStorage(ref node.ObjectRef) bool {
	return ref.Kind == node.PersistentVolume || ref.Kind == node.PersistentVolumeClaim
}

// concernsStorage reports whether a delivery may change claims, their volumes or their use. This holds
// for a volume or claim, for a pod that uses claims, and if it replaces a waiting pod that does.
func concernsStorage(tx *store.Tx, d Delivery) bool {
	if d.Object != nil {
		return ofStorage(d.Object.Ref())
	}
	slot := tx.Get(node.KeyOf(d.Pod))
	return storage.Uses(d.Pod) || slot != nil && slot.Next != nil && storage.Uses(slot.Next.Object)
}
