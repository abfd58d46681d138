package reconciler

import (
	"encoding/json"
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

// resize says how far the last resize of a pod was told and counted.
type resize struct {
	at           time.Time
	made, failed bool
}

// reportResize tells of a resize that begins, is made or fails. It counts a resize once the pod has what it was
// given, and once if that fails before.
func (r *Reconciler) reportResize(t *Tracked, s corev1.PodStatus) {
	pod, was := t.Slot().Pod, r.resizes[t.Key]
	if !pod.Resized.After(r.began) || pod.Resize != nil || pod.Deletion != nil {
		return
	}
	if !was.at.Equal(pod.Resized) {
		was = resize{at: pod.Resized}
		r.addEvent(pod, node.Event{Reason: "ResizeStarted", Message: resizeText(pod, "started", "")})
	}
	i := slices.IndexFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodResizeInProgress })
	switch {
	case i < 0 && !was.made:
		was.made = true
		r.Counts.Resized(r.Act.Clock().Sub(pod.Resized), true)
		r.addEvent(pod, node.Event{Reason: "ResizeCompleted", Message: resizeText(pod, "completed", "")})
	case i >= 0 && s.Conditions[i].Reason == corev1.PodReasonError && !was.failed:
		was.failed = true
		r.Counts.Resized(r.Act.Clock().Sub(pod.Resized), false)
		r.addEvent(pod, node.Event{Reason: "ResizeError", Warning: true, Message: resizeText(pod, "error", s.Conditions[i].Message)})
	}
	r.resizes[t.Key] = was
}

// reportPending tells of a resize that the node cannot make, or cannot make yet.
func (r *Reconciler) reportPending(before, pod *node.Pod) {
	is, was := pod.Resize, before.Resize
	if is == nil || was != nil && is.Reason == was.Reason && is.Message == was.Message && pod.Object.Generation == before.Object.Generation {
		return
	}
	e := node.Event{Reason: "ResizeDeferred", Warning: true, Message: resizeText(pod, is.Reason, is.Message)}
	if is.Reason == corev1.PodReasonInfeasible {
		e.Reason = "ResizeInfeasible"
	}
	r.addEvent(pod, e)
}

// resizeText returns what Kubernetes says of a resize: the resources that each container shall have, as JSON.
func resizeText(pod *node.Pod, what, fault string) string {
	type container struct {
		Name      string                      `json:"name"`
		Resources corev1.ResourceRequirements `json:"resources"`
	}
	wanted := struct {
		InitContainers []container `json:"initContainers,omitempty"`
		Containers     []container `json:"containers,omitempty"`
		Generation     int64       `json:"generation"`
		Error          string      `json:"error,omitempty"`
	}{Generation: pod.Object.Generation, Error: fault}
	for _, c := range pod.Object.Spec.InitContainers {
		wanted.InitContainers = append(wanted.InitContainers, container{c.Name, c.Resources})
	}
	for _, c := range pod.Object.Spec.Containers {
		wanted.Containers = append(wanted.Containers, container{c.Name, c.Resources})
	}
	text, err := json.Marshal(wanted)
	if err != nil { // no value of these types can cause one
		return "Pod resize " + what
	}
	return "Pod resize " + what + ": " + string(text)
}
