package manifest

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// podLevel reports whether a resource may be given for the pod as a whole.
func podLevel(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || isHugePages(name)
}

// total adds up what the containers of a pod need at once: the app containers and
// sidecars together, or the hungriest init container with the sidecars that were
// started before it.
func total(spec *corev1.PodSpec, pick func(*corev1.Container) corev1.ResourceList) corev1.ResourceList {
	running, peak := corev1.ResourceList{}, corev1.ResourceList{}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		now := running.DeepCopy()
		add(now, pick(c))
		if node.IsSidecar(c) {
			running = now
		}
		raise(peak, now)
	}
	for i := range spec.Containers {
		add(running, pick(&spec.Containers[i]))
	}
	raise(peak, running)
	return peak
}

func add(sum, list corev1.ResourceList) {
	for name, quantity := range list {
		have := sum[name].DeepCopy()
		have.Add(quantity)
		sum[name] = have
	}
}

func raise(most, list corev1.ResourceList) {
	for name, quantity := range list {
		if have, ok := most[name]; !ok || quantity.Cmp(have) > 0 {
			most[name] = quantity.DeepCopy()
		}
	}
}

func requestsOf(c *corev1.Container) corev1.ResourceList { return c.Resources.Requests }
func limitsOf(c *corev1.Container) corev1.ResourceList   { return c.Resources.Limits }

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
	fill(&r.Limits, total(spec, limitsOf), func(name corev1.ResourceName) bool {
		_, requested := r.Requests[name]
		return isHugePages(name) && !requested
	})
	if len(r.Limits) > 0 {
		fill(&r.Requests, total(spec, requestsOf), func(name corev1.ResourceName) bool {
			return podLevel(name) && !isHugePages(name)
		})
		fill(&r.Requests, r.Limits, podLevel)
	}
	if !limited {
		fill(&r.Limits, total(spec, limitsOf), func(name corev1.ResourceName) bool {
			return podLevel(name) && !isHugePages(name) && allLimited(spec, name)
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
