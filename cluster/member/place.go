package member

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"nodal/node"
	"nodal/node/storage"
)

// markPlaced marks a pod whose node selector matches labels that the node has in the cluster: the node itself knows
// its own labels alone, and refuses a pod that neither matches them nor is marked. A pod that the node has keeps its
// mark.
func (p *pods) markPlaced(ctx context.Context, pod, there *corev1.Pod) error {
	if there != nil {
		setPlaced(&pod.ObjectMeta, node.Placed(there))
		return nil
	}
	if len(pod.Spec.NodeSelector) == 0 && pod.Spec.Affinity == nil {
		return nil
	}
	n, err := p.cluster.labelled(ctx, p.nodeName)
	if err != nil {
		return err
	}
	fits, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(n)
	setPlaced(&pod.ObjectMeta, fits && err == nil)
	return nil
}

// markPlaced marks a volume that suits the node by labels of the cluster.
func (o *objects) markPlaced(ctx context.Context, v *corev1.PersistentVolume) error {
	if v.Spec.NodeAffinity == nil {
		return nil
	}
	n, err := o.cluster.labelled(ctx, o.nodeName)
	if err != nil {
		return err
	}
	setPlaced(&v.ObjectMeta, storage.Suits(v, n))
	return nil
}

// labelled returns the node with the labels that it has in the cluster.
func (c *cluster) labelled(ctx context.Context, nodeName string) (*corev1.Node, error) {
	n, err := c.node(ctx, nodeName)
	if err != nil {
		return nil, fmt.Errorf("read the labels of the node in the cluster: %w", err)
	}
	return n, nil
}

// setPlaced sets or removes the mark, which another client may have set.
func setPlaced(object *metav1.ObjectMeta, placed bool) {
	delete(object.Annotations, node.AnnotationPlaced)
	if placed {
		metav1.SetMetaDataAnnotation(object, node.AnnotationPlaced, "true")
	}
}
