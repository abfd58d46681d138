package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/status"
	"nodal/reconciler"
)

// times holds when each condition of a pod last changed, as readers saw it.
type times struct {
	of     map[lifeID]map[corev1.PodConditionType]time.Time
	robbed map[types.UID]bool // pods that lost a container or sandbox before it was inspected
}

func newTimes() times {
	return times{of: map[lifeID]map[corev1.PodConditionType]time.Time{}, robbed: map[types.UID]bool{}}
}

// moveOn checks that no condition's transition time goes back. It ignores pods that the agent has
// not fully inspected or is clearing away.
func (wi *witness) moveOn(w *world, t *reconciler.Tracked) {
	slot, got := t.Slot(), t.Got()
	if wi.jumps || wi.times.robbed[slot.Pod.UID()] || slot.Pod.Deletion != nil || !learnt(slot, got) {
		return
	}
	before := wi.times.of[idOf(slot.Pod)]
	if before == nil {
		before = map[corev1.PodConditionType]time.Time{}
		wi.times.of[idOf(slot.Pod)] = before
	}
	shown := status.Of(node.Site{}, slot, got)
	if ended := shown.Phase == corev1.PodSucceeded || shown.Phase == corev1.PodFailed; ended && slot.Result == nil {
		return // a client may still let it run on
	}
	for _, c := range shown.Conditions {
		since := c.LastTransitionTime.Truncate(time.Second) // readers see whole seconds
		if since.Before(before[c.Type]) {
			wi.failf("condition %s of pod %s is %s since %s, and readers saw a later change at %s", c.Type, t.Key, c.Status, since.Sub(epoch), before[c.Type].Sub(epoch))
		}
		before[c.Type] = since
	}
}

// learnt reports whether a pod's sandbox, and all runs that readers are shown, have been inspected.
func learnt(slot *node.Slot, got *node.Observed) bool {
	uid := slot.Pod.UID()
	if s := got.NewestSandbox(uid); s != nil && !s.Inspected {
		return false
	}
	for c := range specs(slot.Pod.Object) {
		for _, run := range []*node.Container{got.Newest(uid, c.Name), got.Previous(uid, c.Name)} {
			if run != nil && run.State != node.ContainerCreated && !run.Inspected {
				return false
			}
		}
	}
	return true
}

// forgetUnnoted drops the results of probes and hooks that a dead agent had not journalled.
func (wi *witness) forgetUnnoted(dead *agent) {
	for _, t := range dead.loop.Tracks() {
		for name, health := range t.Got().Health {
			if before := wi.times.of[idOf(t.Slot().Pod)]; t.Slot().Health[name] != health {
				delete(before, corev1.ContainersReady)
				delete(before, corev1.PodReady)
				delete(before, corev1.PodInitialized)
			}
		}
	}
}
