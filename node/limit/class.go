package limit

import (
	corev1 "k8s.io/api/core/v1"
	resources "k8s.io/component-helpers/resource"
)

// Class ranks a pod by what it promises to stay within: Guaranteed when every container
// limits CPU and memory and requests just that, BestEffort when no container says anything,
// Burstable otherwise. Resources of the pod as a whole count in place of those.
func Class(pod *corev1.Pod) corev1.PodQOSClass {
	asked, guaranteed := false, true
	judge := func(r *corev1.ResourceRequirements) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, request := r.Limits[name], r.Requests[name]
			asked = asked || !limit.IsZero() || !request.IsZero()
			guaranteed = guaranteed && !limit.IsZero() && (request.IsZero() || request.Cmp(limit) == 0)
		}
	}
	if resources.IsPodLevelResourcesSet(pod) {
		judge(pod.Spec.Resources)
	} else {
		for c := range containers(pod) {
			judge(&c.Resources)
		}
	}
	switch {
	case !asked:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// containers visits the init containers, then the others.
func containers(pod *corev1.Pod) func(yield func(*corev1.Container) bool) {
	return func(yield func(*corev1.Container) bool) {
		for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}
