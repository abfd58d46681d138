package intake

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/policy"
)

// cordoned refuses a new pod that a caller of the API posts while the node is cordoned. A pod that tolerates that is taken,
// as a scheduler would place it. Pods of files and of a cluster come as these say.
func (in Intake) cordoned(d Delivery, verdict Verdict) error {
	if verdict != Created || in.Source != node.SourceAPI || in.poster(d) == policy.Cluster || in.Cordon == nil {
		return nil
	}
	c := in.Cordon()
	if !c.Closed() || admit.Tolerates(d.Pod, corev1.TaintNodeUnschedulable) {
		return nil
	}
	why := ""
	if c.Reason != "" {
		why = " (" + c.Reason + ")"
	}
	return fmt.Errorf("take pod %s: the node is cordoned%s and takes no new pods; an admin opens it with kubelet uncordon: %w",
		node.KeyOf(d.Pod), why, node.ErrConflict)
}
