package limit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestClass(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		resources := corev1.ResourceList{}
		if cpu != "" {
			resources[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
		if memory != "" {
			resources[corev1.ResourceMemory] = resource.MustParse(memory)
		}
		return resources
	}
	needs := func(requests, limits corev1.ResourceList) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: requests, Limits: limits}
	}
	const guaranteed, burstable, bestEffort = corev1.PodQOSGuaranteed, corev1.PodQOSBurstable, corev1.PodQOSBestEffort
	bounded := needs(list("1", "1Gi"), list("1", "1Gi"))
	for _, c := range []struct {
		name       string
		whole      *corev1.ResourceRequirements
		init       []corev1.ResourceRequirements
		containers []corev1.ResourceRequirements
		want       corev1.PodQOSClass
	}{
		{"nothing said is best effort", nil, nil, []corev1.ResourceRequirements{{}}, bestEffort},
		{"zero is nothing said", nil, nil, []corev1.ResourceRequirements{needs(list("0", "0"), nil)}, bestEffort},
		{"limits that equal requests are a guarantee", nil, nil, []corev1.ResourceRequirements{bounded}, guaranteed},
		{"the same amount may be written otherwise", nil, nil,
			[]corev1.ResourceRequirements{needs(list("1000m", "1024Mi"), list("1", "1Gi"))}, guaranteed},
		{"limits stand in for requests", nil, nil, []corev1.ResourceRequirements{needs(nil, list("1", "1Gi"))}, guaranteed},
		{"less asked for than allowed is burstable", nil, nil, []corev1.ResourceRequirements{needs(list("1", "1Gi"), list("2", "1Gi"))}, burstable},
		{"requests alone are burstable", nil, nil, []corev1.ResourceRequirements{needs(list("1", ""), nil)}, burstable},
		{"one limit alone is burstable", nil, nil, []corev1.ResourceRequirements{needs(nil, list("", "1Gi"))}, burstable},
		{"one container without a word is enough", nil, nil, []corev1.ResourceRequirements{bounded, {}}, burstable},
		{"an init container counts", nil, []corev1.ResourceRequirements{{}}, []corev1.ResourceRequirements{bounded}, burstable},
		{"what the whole pod says counts alone", &bounded, nil, []corev1.ResourceRequirements{{}}, guaranteed},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Resources: c.whole}}
			for _, r := range c.init {
				pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Resources: r})
			}
			for _, r := range c.containers {
				pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: r})
			}
			if got := Class(pod); got != c.want {
				t.Errorf("class = %s, want %s", got, c.want)
			}
		})
	}
}
