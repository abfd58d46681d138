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

// way names the pods to end for a critical pod, and the resource that it lacked.
type way struct {
	chosen []admit.Rival
	lack   corev1.ResourceName
}

// held returns the shares of other pods. The present owner of the name gives its shares back
// before another takes over, and so do the preempted pods.
func (w way) held(tx *store.Tx, key node.Key) []node.Shares {
	var shares []node.Shares
	for other, slot := range tx.All() {
		if other != key && !w.has(other) {
			shares = append(shares, slot.Shares()...)
		}
	}
	return shares
}

func (w way) has(key node.Key) bool {
	return slices.ContainsFunc(w.chosen, func(r admit.Rival) bool { return r.Key() == key })
}

// assign hands out what a pod's containers have for their own. Where that is not enough,
// a critical pod has what those have that end anyway, and waits for them.
func (in Intake) assign(tx *store.Tx, pod *node.Pod, w *way) (node.Shares, *node.Refusal) {
	rules := in.offered().Assign
	shares, refusal := rules.Pod(pod.Object, w.held(tx, pod.Key()))
	if refusal == nil || !admit.Critical(pod) {
		return shares, refusal
	}
	try := func(chosen []admit.Rival) bool {
		got, none := rules.Pod(pod.Object, way{chosen: chosen}.held(tx, pod.Key()))
		if none == nil {
			shares, w.chosen = got, chosen
		}
		return none == nil
	}
	leaving := slices.DeleteFunc(rivals(tx, pod.Key()), func(r admit.Rival) bool {
		return !r.Ending || len(r.Shares) == 0 || w.has(r.Key())
	})
	if !try(slices.Concat(w.chosen, leaving)) {
		return nil, refusal
	}
	for _, r := range leaving { // as few as leave enough
		try(slices.DeleteFunc(slices.Clone(w.chosen), func(other admit.Rival) bool { return other.Key() == r.Key() }))
	}
	return shares, nil
}

// clear has a pod wait for the chosen pods that still run. One that ends anyway is left alone, a
// successor that waits for a name is refused, and any other pod is made to end.
func (w way) clear(tx *store.Tx, pod *node.Pod, outcome *Outcome, now time.Time) {
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

// tell reports each preempted pod.
func (in Intake) tell(o Outcome) {
	for _, pod := range o.Preempts {
		if in.Preempted != nil {
			in.Preempted(pod, o.Lack)
		}
	}
}
