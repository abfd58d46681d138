package storage

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// Uses reports whether a pod uses any claim.
func Uses(pod *corev1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if _, ok := node.ClaimName(pod, &pod.Spec.Volumes[i]); ok {
			return true
		}
	}
	return false
}

func claimsUsed(b Book) map[node.Key]bool {
	used := map[node.Key]bool{}
	for _, pods := range [][]*corev1.Pod{b.Pods, b.Waiting} {
		for _, pod := range pods {
			for i := range pod.Spec.Volumes {
				if name, ok := node.ClaimName(pod, &pod.Spec.Volumes[i]); ok {
					used[node.Key{Namespace: pod.Namespace, Name: name}] = true
				}
			}
		}
	}
	return used
}

// ownerOf returns the pod that a claim was made for, or "" for a claim that was posted.
func ownerOf(c *corev1.PersistentVolumeClaim) types.UID {
	if owner := metav1.GetControllerOf(c); owner != nil && owner.Kind == "Pod" {
		return owner.UID
	}
	return ""
}

// CheckOwner returns an error, in Kubernetes' words, unless a claim was made for this very pod. A
// claim that was posted, or made for another pod, may have the same name.
func CheckOwner(c *corev1.PersistentVolumeClaim, pod *corev1.Pod) error {
	if ownerOf(c) != pod.UID {
		return fmt.Errorf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", c.Namespace, c.Name, pod.Namespace, pod.Name)
	}
	return nil
}

func ownedClaim(pod *corev1.Pod, name string, t *corev1.PersistentVolumeClaimTemplate, uid types.UID, now metav1.Time) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: string(node.PersistentVolumeClaim)},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: name, UID: uid, CreationTimestamp: now,
			Labels: t.Labels, Annotations: t.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))},
		},
	}
	t.Spec.DeepCopyInto(&c.Spec)
	return c
}

// SettleIn settles what a transaction has changed, as a part of it.
func (k Keeper) SettleIn(tx *store.Tx, now time.Time) {
	var b Book
	for _, o := range tx.Objects(node.PersistentVolume) {
		b.Volumes = append(b.Volumes, o.Volume())
	}
	for _, o := range tx.Objects(node.PersistentVolumeClaim) {
		b.Claims = append(b.Claims, o.Claim())
	}
	for _, slot := range tx.All() {
		b.Pods = append(b.Pods, slot.Pod.Object)
		if slot.Next != nil {
			b.Waiting = append(b.Waiting, slot.Next.Object)
		}
	}
	change := k.Settle(b, now)
	for _, object := range change.Put {
		ref := object.Ref()
		if old := tx.Object(ref); old != nil {
			object.Surplus, object.Source, object.Origin = old.Surplus, old.Source, old.Origin
		}
		if !tx.Withheld(ref) {
			tx.PutObject(object)
		}
	}
	for _, ref := range change.Drop {
		if !tx.Withheld(ref) {
			tx.DropObject(ref)
		}
	}
}

// Pending returns what a claim waits for, or "" if it waits for nothing.
func (k Keeper) Pending(c *corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume) string {
	switch {
	case c.Status.Phase == corev1.ClaimLost:
		return fmt.Sprintf("PersistentVolume %q is gone", c.Spec.VolumeName)
	case c.Status.Phase == corev1.ClaimBound:
		return ""
	}
	_, why := k.choose(c, volumes)
	return why
}
