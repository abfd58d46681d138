package agent

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/admit"
)

// present returns the node's state for the admission of new pods.
func present(
	down func() bool, short func() []corev1.NodeConditionType, known func() *node.RuntimeStatus,
) func() admit.Present {
	return func() admit.Present {
		p := admit.Present{Down: down(), Pressures: short()}
		if runtime := known(); runtime != nil {
			p.MergeGroups = !runtime.Features.SupplementalGroupsPolicy
		}
		return p
	}
}

// preempted returns a function that reports and counts a pod that has to end for a critical one, which lacked a
// resource.
func preempted(report func(node.Event), count func(lack string)) func(*node.Pod, corev1.ResourceName) {
	return func(pod *node.Pod, lack corev1.ResourceName) {
		report(node.Event{
			Key: pod.Key(), UID: pod.UID(), Time: time.Now(), Warning: true,
			Reason: node.Preempting, Message: node.PreemptedMessage,
		})
		count(string(lack))
	}
}
