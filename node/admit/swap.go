package admit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// ResizeSwap refuses another memory request for a running container that has a part of the swap.
// That part follows from the request, and Kubernetes does not change it in place.
func (n Node) ResizeSwap(has, wants *corev1.Pod) *node.Refusal {
	had := map[string]*corev1.Container{}
	for c := range node.Containers(&has.Spec) {
		had[c.Name] = c
	}
	for c := range node.Containers(&wants.Spec) {
		old, ok := had[c.Name]
		if !ok || old.Resources.Requests.Memory().Equal(*c.Resources.Requests.Memory()) || restarts(old) {
			continue
		}
		if n.Swap.Shares(has, old) || n.Swap.Shares(wants, c) {
			return &node.Refusal{Reason: corev1.PodReasonInfeasible, Message: "In-place resize of containers with swap is not supported.", Lack: node.LackSwap}
		}
	}
	return nil
}

// restarts reports whether a container gets other memory only with its next run.
func restarts(c *corev1.Container) bool {
	return slices.ContainsFunc(c.ResizePolicy, func(p corev1.ContainerResizePolicy) bool {
		return p.ResourceName == corev1.ResourceMemory && p.RestartPolicy == corev1.RestartContainer
	})
}
