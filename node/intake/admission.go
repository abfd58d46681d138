package intake

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// crowd bounds how many pods are remembered for each that may run, so that
// those that failed or have finished do not fill the disk.
const crowd = 10

func (in Intake) crowded(tx *node.Tx, key node.Key) error {
	most, ok := in.Node.Allocatable[corev1.ResourcePods]
	if !ok || int64(tx.Len()) < crowd*most.Value() {
		return nil
	}
	return fmt.Errorf("take pod %s: the node remembers %d pods, delete those that have finished: %w", key, tx.Len(), node.ErrNotReady)
}

// check says why the node does not take a new pod as it is and as it is now.
func (in Intake) check(tx *node.Tx, pod *node.Pod) *node.Refusal {
	if in.Present != nil {
		if refusal := in.Present().Check(pod); refusal != nil {
			return refusal
		}
	}
	return in.Node.Check(pod.Object, rivals(tx, pod.Key()))
}

// rivals are the pods beside which a new owner of the key has to run: one that
// is about to go counts until it is gone, unless its successor is known.
func rivals(tx *node.Tx, key node.Key) []*corev1.Pod {
	var pods []*corev1.Pod
	for other, slot := range tx.All() {
		owner := heir(slot)
		if other != key && owner.Refused == nil && (slot.Next != nil || slot.Result == nil) {
			pods = append(pods, owner.Allocated())
		}
	}
	return pods
}

// held is what other pods have for themselves. The pod that has the name now gives
// back what it has before another takes over.
func held(tx *node.Tx, key node.Key) []node.Shares {
	var shares []node.Shares
	for other, slot := range tx.All() {
		if other != key {
			shares = append(shares, slot.Shares()...)
		}
	}
	return shares
}

// made tells of a new pod, and at once if it will not run.
func (o *Outcome) made(pod *node.Pod, v Verdict) {
	o.UID, o.Verdict = pod.UID(), v
	if r := pod.Refused; r != nil {
		o.Warnings = append(o.Warnings, fmt.Sprintf("the pod has failed, %s: %s", r.Reason, r.Message))
	}
}
