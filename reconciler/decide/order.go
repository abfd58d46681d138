package decide

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/status"
)

// Behind returns which of the named pods have to become ready before the next sandbox of a pod is made. It returns none
// for a pod that has one, or that gets no other: what has begun goes on, whatever becomes of the pods before it.
func Behind(
	site node.Site, slot *node.Slot, got *node.Observed, names []node.Key,
	find func(node.Key) (*node.Slot, *node.Observed),
) (behind []node.Unready) {
	if slot.Closed() || slot.Pod.Deletion != nil || got.Home(slot.Pod.UID()) != nil {
		return nil
	}
	for _, name := range names {
		other, seen := find(name)
		if why, stuck := unready(site, other, seen); why != "" {
			behind = append(behind, node.Unready{Key: name, Why: why, Stuck: stuck})
		}
	}
	return behind
}

// unready says why the pod of a slot does not let those after it begin, and whether it never will by itself. It is empty
// for a pod that is ready, and for one that has succeeded, once that is recorded: it has done what the others wait for.
func unready(site node.Site, slot *node.Slot, got *node.Observed) (why string, stuck bool) {
	switch {
	case slot == nil:
		return "this node does not have it", true
	case slot.Pod.Deletion != nil:
		return "it is being deleted", slot.Next == nil
	case slot.Termination != nil && slot.Result == nil:
		return "it is made to end: " + slot.Termination.Reason, true
	}
	s := status.Of(site, slot, got)
	switch {
	case s.Phase == corev1.PodSucceeded && slot.Result != nil || s.Phase != corev1.PodFailed && node.IsReady(&s):
		return "", false
	case s.Phase == corev1.PodFailed && s.Reason != "":
		return "it has failed: " + s.Reason, true
	case s.Phase == corev1.PodFailed:
		return "it has failed", true
	}
	return "it is not ready", false
}

// trails reports whether the pod waits for others that have to be ready first.
func (v *View) trails(p *Plan) bool {
	if len(v.got.Behind) == 0 {
		return false
	}
	p.why("it starts after " + node.Await(v.got.Behind))
	return true
}
