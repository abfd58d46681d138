package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestLimitsOfAContainerWithCPUsOfItsOwn(t *testing.T) {
	limits := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	object := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "own", Resources: corev1.ResourceRequirements{Limits: limits}}, {Name: "shared", Resources: corev1.ResourceRequirements{Limits: limits}},
	}}}
	pod := &Pod{Object: object, Shares: Shares{"own": {CPUs: "2"}}}
	own, shared := &object.Spec.Containers[0], &object.Spec.Containers[1]
	site := Site{Shared: "0-1"}
	if got := site.LimitsOf(pod, object, own); got.CPUs != "2" || got.CPUQuota != 0 {
		t.Errorf("got %s, want CPU 2 for all of the time", got)
	}
	if got := site.LimitsOf(pod, object, shared); got.CPUs != "0-1" || got.CPUQuota != 100_000 {
		t.Errorf("got %s, want the others' CPUs for as long as is asked for", got)
	}
	if got := site.LimitsOfPod(pod, object); got.CPUs != "" || got.CPUQuota != 0 {
		t.Errorf("the pod: got %s, want no bound", got)
	}
	if got := site.LimitsOfPod(&Pod{Object: object}, object); got.CPUQuota != 200_000 {
		t.Errorf("a pod without any: got %s, want its quota", got)
	}
	site.Limits.OwnQuota = true
	if got := site.LimitsOf(pod, object, own); got.CPUs != "2" || got.CPUQuota != 100_000 {
		t.Errorf("where limits bound those too: got %s, want CPU 2 for as long as is asked for", got)
	}
	if got := site.LimitsOfPod(pod, object); got.CPUQuota != 200_000 {
		t.Errorf("and the pod: got %s, want its quota", got)
	}
	if got := (Site{}).LimitsOf(&Pod{Object: object}, object, shared); got.CPUs != "" {
		t.Errorf("where nobody has any: got %s, want any CPU", got)
	}
}
