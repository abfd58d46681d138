package reconciler

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/store"
)

// What makes room for a pod that waits for resources, in Kubernetes' words.
const (
	podUpdated    = "pod_updated"
	podResized    = "pod_resized"
	podTerminated = "pod_terminated"
	podsRemoved   = "pods_removed"
	periodicRetry = "periodic_retry"
)

// freed remembers the last change that may have made room. What a transaction changes has revisions in a row, so that a
// pod that was given room in the same transaction follows at once.
type freed struct {
	by string
	at int64 // the last revision of that row
}

// saw takes a change of a pod in, and returns what has made room for the pod if it had waited.
func (f *freed) saw(v store.View, before *node.Pod) string {
	follows := v.Revision == f.at+1
	by := ""
	switch {
	case v.Gone:
		by = podsRemoved
	case before == nil || before.UID() != v.Slot.Pod.UID():
	case v.Slot.Pod.Object != before.Object:
		by = podUpdated
	case before.Resize != nil && v.Slot.Pod.Resize == nil && follows: // the cause stays, for the next one
		f.at = v.Revision
		return f.by
	case v.Slot.Result != nil:
		by = podTerminated
	}
	if by == "" {
		return periodicRetry
	}
	f.by, f.at = by, v.Revision
	if by == podUpdated { // for others
		f.by = podResized
	}
	return by
}

// resize says how far the last resize of a pod was counted.
type resize struct {
	at           time.Time
	made, failed bool
}

// reportResize counts a resize once the pod has what it was given, and once if that fails before.
func (r *Reconciler) reportResize(t *Tracked, s corev1.PodStatus) {
	pod, was := t.Slot().Pod, r.resizes[t.Key]
	if !pod.Resized.After(r.began) || pod.Resize != nil || pod.Deletion != nil {
		return
	}
	if !was.at.Equal(pod.Resized) {
		was = resize{at: pod.Resized}
	}
	i := slices.IndexFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodResizeInProgress })
	switch {
	case i < 0 && !was.made:
		was.made = true
		r.Counts.Resized(r.Act.Clock().Sub(pod.Resized), true)
	case i >= 0 && s.Conditions[i].Reason == corev1.PodReasonError && !was.failed:
		was.failed = true
		r.Counts.Resized(r.Act.Clock().Sub(pod.Resized), false)
	}
	r.resizes[t.Key] = was
}
