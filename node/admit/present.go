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
	Down        bool                       // the machine shuts down
	Pressures   []corev1.NodeConditionType // the conditions of pressure that hold
	MergeGroups bool                       // its runtime knows no other supplementalGroupsPolicy than Merge
}

// Check returns why a node in this state does not take a new pod, or nil if it does.
func (p Present) Check(pod *node.Pod) *node.Refusal {
	switch {
	case p.Down:
		return rejected(node.NodeShutdown, node.NodeShutdownMessage)
	case len(p.Pressures) > 0 && !p.bears(pod):
		return rejected(node.Evicted, fmt.Sprintf("The node had condition: %v. ", p.Pressures))
	case p.MergeGroups && strictGroups(pod.Object):
		return rejected("SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported in this node")
	}
	return nil
}

func rejected(reason, message string) *node.Refusal {
	return &node.Refusal{Reason: reason, Message: "Pod was rejected: " + message}
}

// bears reports whether a node under pressure takes a pod all the same. Under memory pressure
// alone, what a pod requests is set aside for it already.
func (p Present) bears(pod *node.Pod) bool {
	if Critical(pod) {
		return true
	}
	if len(p.Pressures) != 1 || p.Pressures[0] != corev1.NodeMemoryPressure {
		return false
	}
	return limit.Class(pod.Object) != corev1.PodQOSBestEffort || Tolerates(pod.Object, corev1.TaintNodeMemoryPressure)
}

// Tolerates reports whether a scheduler would place a pod on a node with a taint that keeps new pods away.
func Tolerates(pod *corev1.Pod, taint string) bool {
	of := &corev1.Taint{Key: taint, Effect: corev1.TaintEffectNoSchedule}
	return scheduling.TolerationsTolerateTaint(silent, pod.Spec.Tolerations, of, true)
}

func strictGroups(pod *corev1.Pod) bool {
	c := pod.Spec.SecurityContext
	return c != nil && c.SupplementalGroupsPolicy != nil && *c.SupplementalGroupsPolicy == corev1.SupplementalGroupsPolicyStrict
}
