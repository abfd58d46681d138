package intake

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/offer"
	"nodal/node/store"
)

// offered returns what the node offers to pods now.
func (in Intake) offered() offer.Offer {
	if in.Offer == nil {
		return offer.Offer{}
	}
	return in.Offer()
}

// NodeName returns the name of the node, which its pods bear.
func (in Intake) NodeName() string { return in.offered().Name }

// crowd bounds how many pods are remembered for each that may run, so that
// those that failed or have finished do not fill the disk.
const crowd = 10

func (in Intake) crowded(tx *store.Tx, key node.Key) error {
	most, ok := in.offered().Allocatable[corev1.ResourcePods]
	if !ok || int64(tx.Len()) < crowd*most.Value() {
		return nil
	}
	return fmt.Errorf("take pod %s: the node holds %d pods already; delete those that have finished: %w", key, tx.Len(), node.ErrNotReady)
}

// admit gives a new pod what it needs of the node, or refuses it. A pod that runs already was admitted by another kubelet,
// or its record is lost: it stays, and no other pod ends for it.
func (in Intake) admit(tx *store.Tx, pod *node.Pod, outcome *Outcome, now time.Time) {
	runs := in.runs(pod.Key(), pod.UID())
	var makesRoom preemption
	if !runs {
		makesRoom, pod.Refused = in.check(tx, pod)
	}
	if pod.Refused == nil && node.HasOwnUsers(pod.Object) {
		pod.Users, pod.Refused = in.ownUsers(tx)
	}
	switch rules := in.offered().Assign; {
	case pod.Refused != nil:
	case runs:
		in.keep(tx, pod)
	case rules != nil:
		pod.Shares, pod.Refused = in.assign(tx, pod, &makesRoom)
	}
	if pod.Refused == nil {
		makesRoom.clear(tx, pod, outcome, now)
	}
}

// check admits a new pod: it returns a refusal, or the pods to preempt for it, or neither.
func (in Intake) check(tx *store.Tx, pod *node.Pod) (preemption, *node.Refusal) {
	if in.Present != nil {
		if refusal := in.Present().Check(pod); refusal != nil {
			return preemption{}, refusal
		}
	}
	if refusal := in.unregistered(tx, pod); refusal != nil {
		return preemption{}, refusal
	}
	offered, rivals := in.offered(), rivals(tx, pod.Key())
	refusal := offered.Check(pod.Object, admit.Objects(rivals))
	if refusal == nil {
		return preemption{}, nil
	}
	chosen, lack := offered.Preempt(pod, rivals)
	if len(chosen) == 0 {
		return preemption{}, refusal
	}
	return preemption{chosen, lack}, nil
}

// rivals returns the pods beside which a new owner of the key has to run. A pod that is about to go
// counts until it is gone, unless its successor is known.
func rivals(tx *store.Tx, key node.Key) []admit.Rival {
	var all []admit.Rival
	for other, slot := range tx.All() {
		owner := heir(slot)
		if owner.Refused != nil {
			owner = slot.Pod // that ends yet
		}
		if other != key && owner.Refused == nil && (owner == slot.Next || slot.Result == nil) {
			ends := owner.Deletion != nil || owner == slot.Pod && slot.Termination != nil
			all = append(all, admit.Rival{Pod: owner, Ending: ends && !slot.Newer, Stays: slot.Newer})
		}
	}
	return all
}

// refusalWords says why a new pod will not run. A lack of resources is worded in the units of
// manifests; the pod's status has it in bytes.
func (in Intake) refusalWords(tx *store.Tx, pod *node.Pod) string {
	why := pod.Refused.Message
	if strings.HasPrefix(pod.Refused.Reason, admit.OutOf) {
		if lacking := in.offered().Lacking(pod.Object, admit.Objects(rivals(tx, pod.Key()))); lacking != "" {
			why = lacking
		}
	}
	return fmt.Sprintf("the node refuses the pod, %s: %s", pod.Refused.Reason, why)
}
