package admit

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// Present is how the node is now, as far as that is known.
type Present struct {
	MergeGroups bool // its runtime knows no other supplementalGroupsPolicy than Merge
}

// Check says why a node that is like this does not take a new pod; nil when it may.
func (p Present) Check(pod *node.Pod) *node.Refusal {
	if p.MergeGroups && strictGroups(pod.Object) {
		return rejected("SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported in this node")
	}
	return nil
}

func rejected(reason, message string) *node.Refusal {
	return &node.Refusal{Reason: reason, Message: "Pod was rejected: " + message}
}

func strictGroups(pod *corev1.Pod) bool {
	c := pod.Spec.SecurityContext
	return c != nil && c.SupplementalGroupsPolicy != nil && *c.SupplementalGroupsPolicy == corev1.SupplementalGroupsPolicyStrict
}
