package storage

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"nodal/node"
)

// choose finds the volume for a claim: the one that it names or that names it, else the smallest
// that fits. If there is none, it returns why.
func (k Keeper) choose(c *corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume) (*corev1.PersistentVolume, string) {
	if name := c.Spec.VolumeName; name != "" {
		i := slices.IndexFunc(volumes, func(v *corev1.PersistentVolume) bool { return v.Name == name })
		if i < 0 {
			return nil, fmt.Sprintf("there is no PersistentVolume %q", name)
		}
		if why := k.unfit(c, volumes[i]); why != "" {
			return nil, fmt.Sprintf("PersistentVolume %q %s", name, why)
		}
		return volumes[i], ""
	}
	var best *corev1.PersistentVolume
	for _, v := range volumes {
		if k.unfit(c, v) == "" && (best == nil || better(v, best)) {
			best = v
		}
	}
	if best == nil {
		return nil, fmt.Sprintf("no PersistentVolume of class %q fits", Class(c))
	}
	return best, ""
}

// better prefers a volume that was set aside for the claim, then a small one.
func better(a, b *corev1.PersistentVolume) bool {
	if (a.Spec.ClaimRef != nil) != (b.Spec.ClaimRef != nil) {
		return a.Spec.ClaimRef != nil
	}
	size := a.Spec.Capacity.Storage().Cmp(*b.Spec.Capacity.Storage())
	return cmp.Or(size, cmp.Compare(a.Name, b.Name)) < 0
}

// unfit returns why a volume does not fit a claim, or "" if it does.
func (k Keeper) unfit(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) string {
	switch {
	case v.DeletionTimestamp != nil:
		return "is being deleted"
	case v.Status.Phase == corev1.VolumeReleased:
		return "still holds what another claim left"
	case v.Spec.ClaimRef != nil && !refersTo(v.Spec.ClaimRef, c):
		return fmt.Sprintf("belongs to claim %s/%s", v.Spec.ClaimRef.Namespace, v.Spec.ClaimRef.Name)
	case v.Spec.StorageClassName != Class(c):
		return fmt.Sprintf("is of class %q, not %q", v.Spec.StorageClassName, Class(c))
	case Block(v.Spec.VolumeMode) != Block(c.Spec.VolumeMode):
		return "has another volumeMode"
	case !containsAll(v.Spec.AccessModes, c.Spec.AccessModes):
		return fmt.Sprintf("allows %s, not %s", v.Spec.AccessModes, c.Spec.AccessModes)
	case !node.FromCluster(v) && v.Spec.Capacity.Storage().Cmp(*c.Spec.Resources.Requests.Storage()) < 0:
		return fmt.Sprintf("has %s, not %s", v.Spec.Capacity.Storage(), c.Spec.Resources.Requests.Storage())
	case !selects(c.Spec.Selector, v):
		return "does not match the selector"
	case !k.reaches(v):
		return "cannot be reached from this node"
	}
	return ""
}

// refersTo reports whether a reference means the claim. A reference without a UID means any claim of
// that name.
func refersTo(ref *corev1.ObjectReference, c *corev1.PersistentVolumeClaim) bool {
	return ref.Namespace == c.Namespace && ref.Name == c.Name && (ref.UID == "" || ref.UID == c.UID)
}

func containsAll(have, want []corev1.PersistentVolumeAccessMode) bool {
	return !slices.ContainsFunc(want, func(m corev1.PersistentVolumeAccessMode) bool { return !slices.Contains(have, m) })
}

func selects(selector *metav1.LabelSelector, v *corev1.PersistentVolume) bool {
	if selector == nil {
		return true
	}
	// An unreadable selector selects nothing.
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(v.Labels))
}

func (k Keeper) reaches(v *corev1.PersistentVolume) bool {
	return node.Placed(v) || Suits(v, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.Name, Labels: k.labels()}})
}

func (k Keeper) labels() map[string]string {
	if k.Labels == nil {
		return nil
	}
	return k.Labels()
}

// Suits reports whether a volume's node affinity matches a node.
func Suits(v *corev1.PersistentVolume, n *corev1.Node) bool {
	if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
		return true
	}
	selector, err := nodeaffinity.NewNodeSelector(v.Spec.NodeAffinity.Required)
	return err == nil && selector.Match(n)
}
