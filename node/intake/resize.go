package intake

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/manifest"
	"nodal/node/store"
)

// resize takes the changed resources of a pod that runs, or notes why the pod keeps
// what it had.
func (in Intake) resize(tx *store.Tx, slot *node.Slot, old *node.Pod, outcome *Outcome, now time.Time) {
	pod := *slot.Pod
	slot.Pod = &pod
	pod.Resize = nil
	if refusal := in.refuseResize(tx, old.Allocated(), pod.Object); refusal != nil {
		pod.Resize = &node.Resize{Reason: refusal.Reason, Message: refusal.Message, Lack: refusal.Lack, Held: node.ResourcesOf(old.Allocated())}
		outcome.Warnings = append(outcome.Warnings, fmt.Sprintf("the pod keeps the resources that it has, %s: %s", refusal.Reason, refusal.Message))
		return
	}
	for _, name := range in.allot(slot, old, now) {
		if !slices.Contains(outcome.Restarts, name) {
			outcome.Restarts = append(outcome.Restarts, name)
		}
	}
}

// refuseResize returns why the node does not give a pod the resources that it now asks for, or nil.
func (in Intake) refuseResize(tx *store.Tx, has, object *corev1.Pod) *node.Refusal {
	offered := in.offered()
	if refusal := offered.ResizeSwap(has, object); refusal != nil {
		return refusal
	}
	if offered.Assign != nil {
		if refusal := offered.Assign.Resize(object); refusal != nil {
			return refusal
		}
	}
	return offered.Resize(object, admit.Objects(rivals(tx, node.KeyOf(object))))
}

// allot gives a pod the resources that it asks for. It restarts the running containers whose resize
// policy asks for that.
func (in Intake) allot(slot *node.Slot, old *node.Pod, now time.Time) (restarted []string) {
	pod := *slot.Pod
	slot.Pod = &pod
	pod.Resize, pod.Resized = nil, now
	for _, run := range in.renewed(slot, manifest.RestartedBy(old.Allocated(), pod.Object)) {
		if run.Alive() { // a container that has ended gets them with its next run
			pod.Restarts = node.MergeRestarts(pod.Restarts, []node.Restart{{Container: run.Name, Attempt: run.Attempt}})
			restarted = append(restarted, run.Name)
		}
	}
	return restarted
}

// Readmit looks again at pods that wait for resources, the oldest first, because another may have
// given some back.
func (in Intake) Readmit(tx *store.Tx, now time.Time) {
	tx.ClearWay()
	for _, slot := range tx.Waiting() {
		key := slot.Pod.Key()
		if in.refuseResize(tx, slot.Pod.Allocated(), slot.Pod.Object) != nil {
			continue
		}
		next := *slot
		in.allot(&next, slot.Pod, now)
		tx.Put(key, &next)
	}
}
