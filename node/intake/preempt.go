package intake

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/admit"
)

// way is who makes way for a critical pod, and what that would lack.
type way struct {
	chosen []admit.Rival
	lack   corev1.ResourceName
}

// held is what other pods have for themselves. The pod that has the name now gives
// back what it has before another takes over, and so does who makes way.
func (w way) held(tx *node.Tx, key node.Key) []node.Shares {
	var shares []node.Shares
	for other, slot := range tx.All() {
		goes := func(r admit.Rival) bool { return r.Key() == other }
		if other != key && !slices.ContainsFunc(w.chosen, goes) {
			shares = append(shares, slot.Shares()...)
		}
	}
	return shares
}

// clear ends who makes way for a pod, which waits for that.
func (w way) clear(tx *node.Tx, pod *node.Pod, outcome *Outcome, now time.Time) {
	for _, r := range w.chosen {
		next := *tx.Get(r.Key())
		if next.Result == nil {
			pod.Awaits = append(pod.Awaits, next.Pod.Life())
		}
		switch {
		case r.Ending:
			continue
		case next.Next != nil:
			heir := *next.Next
			heir.Refused, heir.Shares, heir.Users = &node.Refusal{Reason: node.Preempting, Message: node.PreemptedMessage}, nil, nil
			next.Next = &heir
		default:
			next.Termination = &node.Termination{Requested: now, Reason: node.Preempting, Message: node.PreemptedMessage}
		}
		tx.Put(r.Key(), &next)
		outcome.Preempts, outcome.Lack = append(outcome.Preempts, r.Pod), w.lack
		outcome.Warnings = append(outcome.Warnings, fmt.Sprintf("pod %s has to end to make room for it", r.Key()))
	}
}

// tell tells who was made to end.
func (in Intake) tell(o Outcome) {
	for _, pod := range o.Preempts {
		if in.Preempted != nil {
			in.Preempted(pod, o.Lack)
		}
	}
}
