package node

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node/limit"
)

// Resize is a change of a running pod's resources that the node does not make now, or not at all.
// Until then the pod has what it had.
type Resize struct {
	Reason  string                                 `json:"Reason"` // Kubernetes' word: Deferred or Infeasible
	Message string                                 `json:"Message"`
	Lack    Lack                                   `json:"Lack,omitempty"`
	Held    map[string]corev1.ResourceRequirements `json:"Held"` // by container, and "" for the pod as a whole: what it had
}

// Allocated returns the pod with the resources that the node has given it.
func (p *Pod) Allocated() *corev1.Pod {
	if p.Resize == nil {
		return p.Object
	}
	object := p.Object.DeepCopy()
	if held, ok := p.Resize.Held[wholePod]; ok {
		object.Spec.Resources = &held
	}
	for _, list := range [][]corev1.Container{object.Spec.InitContainers, object.Spec.Containers} {
		for i := range list {
			if held, ok := p.Resize.Held[list[i].Name]; ok {
				list[i].Resources = held
			}
		}
	}
	return object
}

// wholePod is the name under which Held keeps the resources of the pod as a whole.
const wholePod = ""

// ResourcesOf returns a pod's resources: those of each container, and those of the pod as a
// whole.
func ResourcesOf(object *corev1.Pod) map[string]corev1.ResourceRequirements {
	held := map[string]corev1.ResourceRequirements{}
	if r := object.Spec.Resources; r != nil {
		held[wholePod] = *r
	}
	for _, list := range [][]corev1.Container{object.Spec.InitContainers, object.Spec.Containers} {
		for i := range list {
			held[list[i].Name] = list[i].Resources
		}
	}
	return held
}

// Behind reports whether a run has other limits than the node allows its container. The limits
// of a run that an earlier agent has made are unknown, unless they were never changed. The
// shared CPUs may have changed at any time, and the node's settings between two agents.
func (p *Pod) Behind(run *Container, allowed limit.Limits) bool {
	if run.Limits == nil {
		return !p.Resized.IsZero() || allowed.CPUs != "" ||
			run.Inspected && run.Guard != allowed.Guard()
	}
	return *run.Limits != allowed
}
