package decide

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

func ownedBy(o metav1.Object, uid types.UID) bool {
	owner := metav1.GetControllerOf(o)
	return owner != nil && owner.UID == uid
}

func gvkOf(kind node.ObjectKind) schema.GroupVersionKind {
	known, _ := node.KindNamed(string(kind))
	return known.GroupVersionKind()
}

// podsOf returns the pods of a workload: those that belong to it, and from now on those that it selects and that belong to
// nothing. A pod that is not selected any more is let go.
func (c *circle) podsOf(of metav1.Object, kind node.ObjectKind, selector *metav1.LabelSelector) []*corev1.Pod {
	return c.podsLike(of, kind, selector, func(*corev1.Pod) bool { return true })
}

// podsLike is podsOf for a workload that has no others than those that are alike.
func (c *circle) podsLike(of metav1.Object, kind node.ObjectKind, selector *metav1.LabelSelector, alike func(*corev1.Pod) bool) (mine []*corev1.Pod) {
	chosen, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil
	}
	for _, p := range c.Pods {
		if p.Namespace != of.GetNamespace() || !alike(p) {
			continue
		}
		fits := chosen.Matches(labels.Set(p.Labels))
		switch {
		case ownedBy(p, of.GetUID()) && (fits || p.DeletionTimestamp != nil || ended(p)):
			mine = append(mine, p)
		case ownedBy(p, of.GetUID()):
			c.plan.add(Change{Do: ChangePod, Pod: let(p, of.GetUID())})
		case fits && metav1.GetControllerOf(p) == nil && p.DeletionTimestamp == nil && !ended(p) && !c.claimed[p.UID]:
			c.claimed[p.UID] = true
			adopted := p.DeepCopy()
			adopted.OwnerReferences = append(adopted.OwnerReferences, *metav1.NewControllerRef(of, gvkOf(kind)))
			c.plan.add(Change{Do: ChangePod, Pod: adopted, For: of.GetUID()})
			mine = append(mine, adopted)
		}
	}
	return mine
}

func let(p *corev1.Pod, uid types.UID) *corev1.Pod {
	free := p.DeepCopy()
	free.OwnerReferences = slices.DeleteFunc(free.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == uid })
	return free
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// active reports whether a pod counts for its workload.
func active(p *corev1.Pod) bool { return !ended(p) && p.DeletionTimestamp == nil }

func where[T any](all []T, fits func(T) bool) (some []T) {
	for _, one := range all {
		if fits(one) {
			some = append(some, one)
		}
	}
	return some
}

func ready(p *corev1.Pod) bool { return readyCondition(p).Status == corev1.ConditionTrue }

func readyCondition(p *corev1.Pod) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c
		}
	}
	return corev1.PodCondition{}
}

// leastWanted sorts pods so that those that may go first stand first, by Kubernetes' order: pending before running, not ready
// before ready, the lower cost of deletion, the shorter ready, the more restarts, the younger.
func leastWanted(pods []*corev1.Pod) []*corev1.Pod {
	sorted := slices.Clone(pods)
	slices.SortStableFunc(sorted, func(a, b *corev1.Pod) int {
		return cmp.Or(
			cmp.Compare(phaseRank(a), phaseRank(b)),
			cmp.Compare(rank(ready(a)), rank(ready(b))),
			cmp.Compare(deletionCost(a), deletionCost(b)),
			readyCondition(b).LastTransitionTime.Compare(readyCondition(a).LastTransitionTime.Time),
			cmp.Compare(restarts(b), restarts(a)),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return sorted
}

func deletionCost(p *corev1.Pod) int {
	cost, _ := strconv.Atoi(p.Annotations[corev1.PodDeletionCost]) // the rules of pods keep others out
	return cost
}

func rank(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func phaseRank(p *corev1.Pod) int {
	return slices.Index([]corev1.PodPhase{corev1.PodPending, corev1.PodUnknown, corev1.PodRunning}, p.Status.Phase)
}

func restarts(p *corev1.Pod) (most int32) {
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		most = max(most, s.RestartCount)
	}
	return most
}
