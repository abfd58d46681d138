package limit

import (
	corev1 "k8s.io/api/core/v1"
	resources "k8s.io/component-helpers/resource"
)

// The order in which the kernel kills when the machine runs out of memory: best effort,
// then burstable by how far beyond its request, guaranteed last.
const (
	oomGuaranteed = -997
	oomBestEffort = 1000
)

const (
	nodeCritical    = "system-node-critical"
	clusterCritical = "system-cluster-critical"
)

// OOMScore returns the adjustment of a container's processes, on a machine with memory bytes.
func OOMScore(pod *corev1.Pod, c *corev1.Container, memory int64) int64 {
	if pod.Spec.PriorityClassName == nodeCritical {
		return oomGuaranteed
	}
	switch Class(pod) {
	case corev1.PodQOSGuaranteed:
		return oomGuaranteed
	case corev1.PodQOSBestEffort:
		return oomBestEffort
	}
	if memory <= 0 {
		return oomBestEffort - 1
	}
	request := c.Resources.Requests.Memory().Value()
	if sidecar(c) {
		// It must not be killed before the containers that lean on it.
		request = max(request, leastRequest(pod))
	}
	score := 1000 - 1000*(request+spareRequest(pod))/memory
	// The two ends of the scale belong to the other classes.
	return min(max(score, 1000+oomGuaranteed), oomBestEffort-1)
}

func sidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// leastRequest returns the smallest request for memory of the application containers.
func leastRequest(pod *corev1.Pod) int64 {
	var least int64
	for i := range pod.Spec.Containers {
		request := pod.Spec.Containers[i].Resources.Requests.Memory().Value()
		if i == 0 || request < least {
			least = request
		}
	}
	return least
}

// spareRequest returns each container's part of the memory that the pod requests as a whole
// beyond its containers' requests.
func spareRequest(pod *corev1.Pod) int64 {
	if !resources.IsPodLevelRequestsSet(pod) {
		return 0
	}
	count := int64(len(pod.Spec.Containers))
	for i := range pod.Spec.InitContainers {
		if sidecar(&pod.Spec.InitContainers[i]) {
			count++
		}
	}
	asked := resources.AggregateContainerRequests(pod, resources.PodResourcesOptions{})
	spare := pod.Spec.Resources.Requests.Memory().Value() - asked.Memory().Value()
	return max(spare, 0) / max(count, 1)
}
