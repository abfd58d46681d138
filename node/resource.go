package node

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// IsHugePages reports whether a resource is memory in huge pages of some size.
func IsHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// IsExtended reports whether a resource is none of Kubernetes' own, such as the devices of a plugin.
func IsExtended(name corev1.ResourceName) bool {
	domain, _, ok := strings.Cut(string(name), "/")
	return ok && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io") &&
		!strings.HasPrefix(domain, corev1.DefaultResourceRequestsPrefix)
}

// IsPodResource reports whether a resource may be given for the pod as a whole.
func IsPodResource(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || IsHugePages(name)
}

// RequestsOf returns what a container asks for.
func RequestsOf(c *corev1.Container) corev1.ResourceList { return c.Resources.Requests }

// LimitsOf returns what a container may use at most.
func LimitsOf(c *corev1.Container) corev1.ResourceList { return c.Resources.Limits }

// AtOnce adds up what the containers of a pod need at one time: the app containers and
// sidecars together, or the hungriest init container with the sidecars that were
// started before it.
func AtOnce(spec *corev1.PodSpec, pick func(*corev1.Container) corev1.ResourceList) corev1.ResourceList {
	running, peak := corev1.ResourceList{}, corev1.ResourceList{}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		now := running.DeepCopy()
		add(now, pick(c))
		if IsSidecar(c) {
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
		have, ok := sum[name]
		if !ok {
			sum[name] = quantity.DeepCopy() // with its text: UIDs of static pods depend on it
			continue
		}
		have = have.DeepCopy()
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
