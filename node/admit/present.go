package admit

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"

	"nodal/node"
	"nodal/node/limit"
)

// Present holds the state of the node now, as far as it is known.
type Present struct {
	Short       []corev1.NodeConditionType // conditions that hold and say that it runs short of something
	MergeGroups bool                       // its runtime knows no other supplementalGroupsPolicy than Merge
}

// Check says why a node that is like this does not take a new pod; nil when it may.
func (p Present) Check(pod *node.Pod) *node.Refusal {
	switch {
	case len(p.Short) > 0 && !p.bears(pod):
		return rejected(node.Evicted, fmt.Sprintf("The node had condition: %v. ", p.Short))
	case p.MergeGroups && strictGroups(pod.Object):
		return rejected("SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported in this node")
	}
	return nil
}

func rejected(reason, message string) *node.Refusal {
	return &node.Refusal{Reason: reason, Message: "Pod was rejected: " + message}
}

// bears says whether a node that runs short takes a pod all the same. Where memory alone
// is short, what a pod has asked for is set aside for it already.
func (p Present) bears(pod *node.Pod) bool {
	if Critical(pod) {
		return true
	}
	if len(p.Short) != 1 || p.Short[0] != corev1.NodeMemoryPressure {
		return false
	}
	taint := &corev1.Taint{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule}
	return limit.Class(pod.Object) != corev1.PodQOSBestEffort ||
		scheduling.TolerationsTolerateTaint(silent, pod.Object.Spec.Tolerations, taint, true)
}

func strictGroups(pod *corev1.Pod) bool {
	c := pod.Spec.SecurityContext
	return c != nil && c.SupplementalGroupsPolicy != nil && *c.SupplementalGroupsPolicy == corev1.SupplementalGroupsPolicyStrict
}
