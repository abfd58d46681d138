package limit

import (
	corev1 "k8s.io/api/core/v1"
)

// Swap says what of the machine's swap containers may use.
type Swap struct {
	Limited bool  // burstable ones get a part; else nobody gets any
	Total   int64 // bytes
}

// Of is how many bytes of swap a container may use: of all of it, the part that its
// request is of a machine's memory.
func (s Swap) Of(pod *corev1.Pod, c *corev1.Container, memory int64) int64 {
	if memory <= 0 || !s.Shares(pod, c) {
		return 0
	}
	return int64(float64(c.Resources.Requests.Memory().Value()) / float64(memory) * float64(s.Total))
}

// Shares says whether a container gets a part. One that has a guarantee for its memory,
// asks for none, or that the node needs, gets none.
func (s Swap) Shares(pod *corev1.Pod, c *corev1.Container) bool {
	request, most := c.Resources.Requests.Memory(), c.Resources.Limits.Memory()
	return s.Limited && Class(pod) == corev1.PodQOSBurstable && !request.IsZero() && request.Cmp(*most) != 0 && !Critical(pod) && !static(pod)
}

// AnnotationSource tells what a static pod came from: a file or a URL.
const AnnotationSource = "kubernetes.io/config.source"

func static(pod *corev1.Pod) bool {
	source, ok := pod.Annotations[AnnotationSource]
	return ok && source != "api"
}

// Critical are pods that the node or its cluster cannot do without. Without a cluster
// nobody has put a number to their class.
func Critical(pod *corev1.Pod) bool {
	const leastCritical = 2_000_000_000
	switch pod.Spec.PriorityClassName {
	case nodeCritical, clusterCritical:
		return true
	}
	return pod.Spec.Priority != nil && *pod.Spec.Priority >= leastCritical
}
