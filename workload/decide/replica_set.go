package decide

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"nodal/node"
)

// failedWait is the time from the failure of a pod to the next one in its place. A pod that does not fit on the node fails at
// once, so it bounds how often the node tries.
const failedWait = 10 * time.Second

// burst bounds the pods that one plan makes for a workload.
const burst = 50

// replicaSet has a set run as many pods as it wants.
func (c *circle) replicaSet(set *appsv1.ReplicaSet) {
	if c.goes(set) {
		return
	}
	mine := c.podsOf(set, node.ReplicaSet, set.Spec.Selector)
	running := where(mine, active)
	wanted := int(number(set.Spec.Replicas, 1))
	recent, replaced := c.replaceFailed(mine, wanted-len(running))
	atOnce := burst
	if recent+replaced > 0 {
		atOnce = min(1, replaced) // the next ones may fail as well
	}
	switch missing := wanted - len(running) - recent; {
	case missing > 0:
		for range min(missing, atOnce) {
			c.makePod(set, c.podOf(set, set.Name+"-"))
		}
	case len(running) > wanted:
		for _, p := range leastWanted(running)[:len(running)-wanted] {
			c.plan.add(Change{Do: DeletePod, Pod: p})
		}
	}
	c.replicaSetStatus(set, mine)
}

// replaceFailed deletes ended pods for which the set may have others. It returns how many of the missing ones wait for that, and
// how many it deletes.
func (c *circle) replaceFailed(mine []*corev1.Pod, missing int) (recent, replaced int) {
	for _, p := range mine {
		if !ended(p) || p.DeletionTimestamp != nil {
			continue
		}
		due := endedAt(p).Add(failedWait)
		if c.Now.Before(due) && recent < missing {
			c.plan.again(due)
			recent++
			continue
		}
		c.plan.add(Change{Do: DeletePod, Pod: p})
		replaced++
	}
	return recent, replaced
}

// endedAt returns when a pod ended. One that never ran ended when it was made.
func endedAt(p *corev1.Pod) time.Time {
	at := p.CreationTimestamp.Time
	for _, s := range p.Status.ContainerStatuses {
		if t := s.State.Terminated; t != nil && t.FinishedAt.After(at) {
			at = t.FinishedAt.Time
		}
	}
	if end := readyCondition(p).LastTransitionTime; end.After(at) {
		at = end.Time
	}
	return at
}

func number(value *int32, otherwise int32) int32 {
	if value == nil {
		return otherwise
	}
	return *value
}

// available reports whether a pod has been ready for so long. If it will be, the plan is made again then.
func (c *circle) available(p *corev1.Pod, seconds int32) bool {
	if !ready(p) {
		return false
	}
	from := readyCondition(p).LastTransitionTime.Add(time.Duration(seconds) * time.Second)
	if seconds > 0 && c.Now.Before(from) {
		c.plan.again(from)
		return false
	}
	return true
}

// replicaSetCounts counts the pods of a set.
func (c *circle) replicaSetCounts(set *appsv1.ReplicaSet, mine []*corev1.Pod) appsv1.ReplicaSetStatus {
	counts := appsv1.ReplicaSetStatus{TerminatingReplicas: new(int32)}
	template := labels.SelectorFromSet(set.Spec.Template.Labels)
	for _, p := range mine {
		switch {
		case active(p):
			counts.Replicas++
			counts.FullyLabeledReplicas += count(template.Matches(labels.Set(p.Labels)))
			counts.ReadyReplicas += count(ready(p))
			counts.AvailableReplicas += count(c.available(p, set.Spec.MinReadySeconds))
		case p.DeletionTimestamp != nil && !ended(p):
			*counts.TerminatingReplicas++
		}
	}
	return counts
}

func count(yes bool) int32 { return int32(rank(yes)) }

func (c *circle) replicaSetStatus(set *appsv1.ReplicaSet, mine []*corev1.Pod) {
	if c.changed[set.UID] {
		return
	}
	next := set.DeepCopy()
	conditions := next.Status.Conditions
	next.Status = c.replicaSetCounts(set, mine)
	next.Status.ObservedGeneration = set.Generation
	next.Status.Conditions = c.failure(conditions, set, int(number(set.Spec.Replicas, 1))-int(next.Status.Replicas))
	if !apiequality.Semantic.DeepEqual(set.Status, next.Status) {
		c.plan.add(Change{Do: PutStatus, Value: next})
	}
}

const failedCreate = "FailedCreate"

// failure returns the conditions of a set with what keeps it from making its pods.
func (c *circle) failure(had []appsv1.ReplicaSetCondition, set *appsv1.ReplicaSet, missing int) (all []appsv1.ReplicaSetCondition) {
	why := c.Trouble[set.UID]
	was := appsv1.ReplicaSetCondition{}
	for _, one := range had {
		if one.Type == appsv1.ReplicaSetReplicaFailure {
			was = one
		} else {
			all = append(all, one)
		}
	}
	switch {
	case missing <= 0:
	case why == "":
		if was.Type != "" {
			all = append(all, was) // until they are made
		}
	default:
		next := appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: failedCreate, Message: why,
			LastTransitionTime: metav1.NewTime(c.Now.Truncate(time.Second)),
		}
		if was.Status == next.Status {
			next.LastTransitionTime = was.LastTransitionTime
		}
		all = append(all, next)
	}
	return all
}
