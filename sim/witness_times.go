package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/status"
	"nodal/reconciler"
)

// times are when the conditions of pods last changed, as they were last shown.
type times struct {
	of     map[lifeID]map[corev1.PodConditionType]time.Time
	robbed map[types.UID]bool // pods of which something vanished, and with it what it had to tell
}

func newTimes() times {
	return times{of: map[lifeID]map[corev1.PodConditionType]time.Time{}, robbed: map[types.UID]bool{}}
}

// moveOn checks: no condition is told to have changed before it did so last. An agent
// that has not learnt all of a pod cannot know, nor what is known of one that is cleared away.
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
		return // a client may have it go on still
	}
	for _, c := range shown.Conditions {
		since := c.LastTransitionTime.Truncate(time.Second) // as readers see it
		if since.Before(before[c.Type]) {
			wi.failf("condition %s of pod %s is %s since %s, and was told to have changed at %s", c.Type, t.Key, c.Status, since.Sub(epoch), before[c.Type].Sub(epoch))
		}
		before[c.Type] = since
	}
}

// learnt says whether a pod's sandbox and those of its runs that readers are shown have
// been looked at closely.
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
