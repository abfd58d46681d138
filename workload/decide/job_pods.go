package decide

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/admit"
)

// takePods sorts the pods of a job. One that the node did not take for now never ran: the job waits, as it does for a scheduler
// in a cluster, and the pod counts as no failure.
func (r *run) takePods(all []*corev1.Pod) {
	for _, p := range all {
		if refused(p) {
			r.refused = append(r.refused, p)
		} else {
			r.pods = append(r.pods, p)
		}
	}
	r.active = where(r.pods, active)
}

// refused reports whether the node did not take a pod for a reason that passes: it lacks room, is under pressure or shuts down.
func refused(p *corev1.Pod) bool {
	if p.Status.Phase != corev1.PodFailed || len(p.Status.ContainerStatuses) > 0 {
		return false
	}
	reason := p.Status.Reason
	return strings.HasPrefix(reason, admit.OutOf) || reason == node.Evicted || reason == node.NodeShutdown
}

// The node takes no more pods once it holds a number of ended ones, so that jobs of many completions would stop themselves and
// all others.
const (
	mostEnded      = 50  // kept of one job
	mostEndedOfAll = 200 // kept of all jobs together
)

// clear deletes the ended pods beyond those numbers, the oldest first. A pod stays until the status that counts it is stored.
func (r *run) clear() {
	kept := where(r.pods, func(p *corev1.Pod) bool { return ended(p) && p.DeletionTimestamp == nil })
	slices.SortStableFunc(kept, oldestFirst)
	was := strings.Split(r.of.Annotations[node.NoteCounted], ",")
	for i, p := range kept {
		if (i < len(kept)-mostEnded || r.spent[p.UID]) && slices.Contains(was, string(p.UID)) {
			r.plan.add(Change{Do: DeletePod, Pod: p})
		}
	}
}

// spentPods returns the oldest of the ended pods of all jobs, which are too many.
func (w *World) spentPods() map[types.UID]bool {
	owners := map[types.UID]bool{}
	for _, j := range w.Jobs {
		owners[j.UID] = true
	}
	kept := where(w.Pods, func(p *corev1.Pod) bool {
		owner := metav1.GetControllerOf(p)
		return owner != nil && owners[owner.UID] && ended(p) && !refused(p) && p.DeletionTimestamp == nil
	})
	slices.SortStableFunc(kept, oldestFirst)
	spent := map[types.UID]bool{}
	for _, p := range kept[:max(0, len(kept)-mostEndedOfAll)] {
		spent[p.UID] = true
	}
	return spent
}

func oldestFirst(a, b *corev1.Pod) int {
	return cmp.Or(endedAt(a).Compare(endedAt(b)), cmp.Compare(a.Name, b.Name))
}
