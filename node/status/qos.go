package status

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// qosClass ranks a pod by what it promises to stay within: Guaranteed when
// every container limits cpu and memory and requests just that, BestEffort
// when none says anything, Burstable otherwise. What the pod as a whole says
// counts in place of that.
func qosClass(pod *corev1.Pod) corev1.PodQOSClass {
	guaranteed, any := true, false
	all := append(append([]corev1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...)
	if pod.Spec.Resources != nil {
		all = []corev1.Container{{Resources: *pod.Spec.Resources}}
	}
	for i := range all {
		r := &all[i].Resources
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, request := r.Limits[name], r.Requests[name]
			if !limit.IsZero() || !request.IsZero() {
				any = true
			}
			guaranteed = guaranteed && !limit.IsZero() && sameOrUnset(request, limit)
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

func sameOrUnset(request, limit resource.Quantity) bool {
	return request.IsZero() || request.Cmp(limit) == 0
}
