package decide

import (
	"cmp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
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

// atOnce returns how many of the missing pods to make now. All jobs together make a burst. While the node has refused pods, there
// may be no room for the next ones either: each job makes one, until a burst is refused; then one job does, since what never fits
// does not stop the others.
func (r *run) atOnce(missing, waiting, replaced int) int {
	switch {
	case waiting+replaced > 0:
		return min(missing, replaced, 1)
	case r.Trouble[r.of.UID] != "":
		return min(missing, 1) // one that cannot be made takes no other's turn
	case r.unplaced > 0:
		missing = min(missing, 1)
	}
	n := min(missing, max(1, burst-r.unplaced)-r.made)
	r.made += n
	return n
}

// The node takes no more pods once it holds a number of ended ones, so that jobs of many completions would stop themselves and
// all others.
const (
	mostEnded      = 50  // kept of one job
	mostEndedOfAll = 200 // kept of all jobs together, but for those that a pause follows from
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

// podsOfJobs returns the pods of all jobs but for those that are deleted.
func (w *World) podsOfJobs() []*corev1.Pod {
	owners := map[types.UID]bool{}
	for _, j := range w.Jobs {
		owners[j.UID] = true
	}
	return where(w.Pods, func(p *corev1.Pod) bool {
		owner := metav1.GetControllerOf(p)
		return owner != nil && owners[owner.UID] && p.DeletionTimestamp == nil
	})
}

// spentPods returns the oldest of the ended pods of all jobs, which are too many.
func (w *World) spentPods() map[types.UID]bool {
	kept := where(w.podsOfJobs(), func(p *corev1.Pod) bool { return ended(p) && !refused(p) })
	slices.SortStableFunc(kept, func(a, b *corev1.Pod) int { return oldestFirst(b, a) })
	kept = w.withoutPauses(kept)
	spent := map[types.UID]bool{}
	for _, p := range kept[min(len(kept), mostEndedOfAll):] {
		spent[p.UID] = true
	}
	return spent
}

// withoutPauses leaves out the failures since the last success of jobs that go on: the pause before the next pod follows from
// them. The pods come newest first.
func (w *World) withoutPauses(pods []*corev1.Pod) []*corev1.Pod {
	yet := map[types.UID]int{} // failures of each job that a pause follows from
	for _, j := range w.Jobs {
		if !jobIs(j, batchv1.JobComplete) && !jobIs(j, batchv1.JobFailed) {
			yet[j.UID] = pausing
		}
	}
	return where(pods, func(p *corev1.Pod) bool {
		job := metav1.GetControllerOf(p).UID
		if p.Status.Phase == corev1.PodSucceeded {
			yet[job] = 0
		}
		yet[job]--
		return yet[job] < 0
	})
}

func jobIs(j *batchv1.Job, kind batchv1.JobConditionType) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

func oldestFirst(a, b *corev1.Pod) int {
	return cmp.Or(endedAt(a).Compare(endedAt(b)), cmp.Compare(a.Name, b.Name))
}
