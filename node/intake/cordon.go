package intake

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"nodal/node"
	"nodal/node/policy"
)

// cordoned refuses a new pod that a caller of the API posts while the node is cordoned. A pod that tolerates that is taken,
// as a scheduler would place it. Pods of files and of a cluster come as these say.
func (in Intake) cordoned(d Delivery, verdict Verdict) error {
	if verdict != Created || in.Source != node.SourceAPI || in.poster(d) == policy.Cluster || in.Cordon == nil {
		return nil
	}
	c := in.Cordon()
	taint := &corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	if !c.Closed() || scheduling.TolerationsTolerateTaint(klog.Logger{}, d.Pod.Spec.Tolerations, taint, true) {
		return nil
	}
	why := ""
	if c.Reason != "" {
		why = " (" + c.Reason + ")"
	}
	return fmt.Errorf("take pod %s: the node is cordoned%s and takes no new pods; an admin opens it with kubelet uncordon: %w",
		node.KeyOf(d.Pod), why, node.ErrConflict)
}
