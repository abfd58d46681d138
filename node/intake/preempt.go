package intake

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/store"
)

// preemption names the pods to end for a critical pod, and the resource that it lacked.
type preemption struct {
	chosen []admit.Rival
	lack   corev1.ResourceName
}

// held returns the shares of other pods. The present owner of the name gives its shares back
// before another takes over, and so do the preempted pods.
func (p preemption) held(tx *store.Tx, key node.Key) []node.Shares {
	var shares []node.Shares
	for other, slot := range tx.All() {
		if other != key && !p.has(other) {
			shares = append(shares, slot.Shares()...)
		}
	}
	return shares
}

func (p preemption) has(key node.Key) bool {
	return slices.ContainsFunc(p.chosen, func(r admit.Rival) bool { return r.Key() == key })
}

// assign hands out exclusive CPUs and memory to a pod's containers. If there is too little, a
// critical pod gets what the pods hold that end already, and waits for them.
func (in Intake) assign(tx *store.Tx, pod *node.Pod, p *preemption) (node.Shares, *node.Refusal) {
	rules := in.offered().Assign
	awaited := in.awaited(tx, pod.UID())
	shares, refusal := rules.Pod(pod.Object, slices.Concat(p.held(tx, pod.Key()), awaited))
	if refusal == nil || !admit.Critical(pod) {
		return shares, refusal
	}
	try := func(chosen []admit.Rival) bool {
		got, none := rules.Pod(pod.Object, slices.Concat(preemption{chosen: chosen}.held(tx, pod.Key()), awaited))
		if none == nil {
			shares, p.chosen = got, chosen
		}
		return none == nil
	}
	leaving := slices.DeleteFunc(rivals(tx, pod.Key()), func(r admit.Rival) bool {
		return !r.Ending || len(r.Shares) == 0 || p.has(r.Key())
	})
	if !try(slices.Concat(p.chosen, leaving)) {
		return nil, refusal
	}
	for _, r := range leaving { // as few as possible
		try(slices.DeleteFunc(slices.Clone(p.chosen), func(other admit.Rival) bool { return other.Key() == r.Key() }))
	}
	return shares, nil
}

// clear has a pod wait for the chosen pods that still run. A chosen pod that ends already is left
// alone, a successor that waits for a name is refused, and any other pod is made to end.
func (p preemption) clear(tx *store.Tx, pod *node.Pod, outcome *Outcome, now time.Time) {
	for _, r := range p.chosen {
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
		outcome.Preempts, outcome.Lack = append(outcome.Preempts, r.Pod), p.lack
		outcome.Warnings = append(outcome.Warnings, fmt.Sprintf("pod %s has to end to make room for it", r.Key()))
	}
}

// report calls Preempted for each preempted pod.
func (in Intake) report(o Outcome) {
	for _, pod := range o.Preempts {
		if in.Preempted != nil {
			in.Preempted(pod, o.Lack)
		}
	}
}
