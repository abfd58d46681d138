package manifest

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// defaultPodResources completes resources given for the pod as a whole. The order
// matters: huge pages cannot be overcommitted, so their limit comes first and
// the requests follow from it.
func defaultPodResources(spec *corev1.PodSpec) {
	r := spec.Resources
	if r == nil {
		return
	}
	roundUp(r.Limits)
	roundUp(r.Requests)
	limited := len(r.Limits) > 0
	if !limited && len(r.Requests) == 0 {
		return
	}
	fill(&r.Limits, node.AtOnce(spec, node.LimitsOf), func(name corev1.ResourceName) bool {
		_, requested := r.Requests[name]
		return node.IsHugePages(name) && !requested
	})
	if len(r.Limits) > 0 {
		fill(&r.Requests, node.AtOnce(spec, node.RequestsOf), func(name corev1.ResourceName) bool {
			return node.IsPodResource(name) && !node.IsHugePages(name)
		})
		fill(&r.Requests, r.Limits, node.IsPodResource)
	}
	if !limited {
		fill(&r.Limits, node.AtOnce(spec, node.LimitsOf), func(name corev1.ResourceName) bool {
			return node.IsPodResource(name) && !node.IsHugePages(name) && allLimited(spec, name)
		})
	}
}

// fill copies what is missing and wanted into a list.
func fill(list *corev1.ResourceList, from corev1.ResourceList, wanted func(corev1.ResourceName) bool) {
	for name, quantity := range from {
		if _, given := (*list)[name]; given || !wanted(name) {
			continue
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = quantity.DeepCopy()
	}
}

// allLimited reports whether every container that runs beside the others has a
// limit: only then is their sum a limit of the pod.
func allLimited(spec *corev1.PodSpec, name corev1.ResourceName) bool {
	for i := range spec.Containers {
		if _, ok := spec.Containers[i].Resources.Limits[name]; !ok {
			return false
		}
	}
	for i := range spec.InitContainers {
		if _, ok := spec.InitContainers[i].Resources.Limits[name]; !ok {
			return false
		}
	}
	return true
}
