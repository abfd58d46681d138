package ownruntime

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/host/podnet"
	"nodal/host/podnet/policy"
	"nodal/node"
	"nodal/node/store"
)

// wishes reads from the store what the network of pods is to be held to.
type wishes struct{ store *store.Store }

var _ podnet.Source = wishes{}

// Policies returns the NetworkPolicies.
func (w wishes) Policies() (all []*networkingv1.NetworkPolicy) {
	objects, _ := w.store.Objects(node.NetworkPolicy)
	for _, o := range objects {
		all = append(all, node.As[*networkingv1.NetworkPolicy](o))
	}
	return all
}

// Pod returns the labels and ports of the pod that owns a key. Nothing is known of one that has lost it.
func (w wishes) Pod(key node.Key, uid types.UID) (labels map[string]string, ports []corev1.ContainerPort) {
	view, ok := w.store.View(key)
	if !ok || view.Slot == nil || view.Slot.Pod == nil || view.Slot.Pod.UID() != uid {
		return nil, nil
	}
	pod := view.Slot.Pod.Object
	return pod.Labels, policy.PortsOf(&pod.Spec)
}
