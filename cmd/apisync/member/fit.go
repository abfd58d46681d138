package member

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// fit has the cluster's labels of the node count, of which the node itself knows only its
// own: a pod that they suit goes to the node without what it chooses nodes by. Another goes
// as it is, and is the node's to refuse. What a pod came to the node with it keeps there.
func (p *pods) fit(ctx context.Context, want, there *corev1.Pod) (*corev1.Pod, error) {
	if len(want.Spec.NodeSelector) == 0 && want.Spec.Affinity == nil {
		return want, nil
	}
	fitted := want.DeepCopy()
	if there != nil {
		fitted.Spec.NodeSelector, fitted.Spec.Affinity = there.Spec.NodeSelector, there.Spec.Affinity
		return fitted, nil
	}
	n, err := p.cluster.node(ctx, p.nodeName)
	if err != nil {
		return nil, fmt.Errorf("read the labels that the node has in the cluster: %w", err)
	}
	if fits, err := nodeaffinity.GetRequiredNodeAffinity(want).Match(n); fits && err == nil {
		fitted.Spec.NodeSelector, fitted.Spec.Affinity = nil, nil
	}
	return fitted, nil
}
