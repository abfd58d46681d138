package limit

import (
	corev1 "k8s.io/api/core/v1"
)

// Swap says what of the machine's swap containers may use.
type Swap struct {
	Limited bool  // burstable pods get a part; otherwise no pod gets any
	Total   int64 // bytes
}

// Of returns the bytes of swap that a container may use: the same part of all swap as its
// request is of the machine's memory.
func (s Swap) Of(pod *corev1.Pod, c *corev1.Container, memory int64) int64 {
	if memory <= 0 || !s.Shares(pod, c) {
		return 0
	}
	return int64(float64(c.Resources.Requests.Memory().Value()) / float64(memory) * float64(s.Total))
}

// Shares reports whether a container gets a part of the swap. It gets none if its memory is
// guaranteed, if it requests none, or if its pod is critical.
func (s Swap) Shares(pod *corev1.Pod, c *corev1.Container) bool {
	request, most := c.Resources.Requests.Memory(), c.Resources.Limits.Memory()
	return s.Limited && Class(pod) == corev1.PodQOSBurstable && !request.IsZero() && request.Cmp(*most) != 0 && !Critical(pod) && !static(pod)
}

// AnnotationSource names the origin of a static pod: a file or a URL.
const AnnotationSource = "kubernetes.io/config.source"

func static(pod *corev1.Pod) bool {
	source, ok := pod.Annotations[AnnotationSource]
	return ok && source != "api"
}

// leastCritical is the lowest priority of the system's own classes.
const leastCritical = 2_000_000_000

// Critical reports whether the node or its cluster cannot do without the pod. A static pod may
// name its class without a priority.
func Critical(pod *corev1.Pod) bool {
	_, system := SystemPriority(pod.Spec.PriorityClassName)
	return system || pod.Spec.Priority != nil && *pod.Spec.Priority >= leastCritical
}

// SystemPriority returns the priority of a class that is always there.
func SystemPriority(class string) (priority int32, ok bool) {
	switch class {
	case nodeCritical:
		return leastCritical + 1000, true
	case clusterCritical:
		return leastCritical, true
	}
	return 0, false
}
