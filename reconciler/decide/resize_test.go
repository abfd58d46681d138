package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/node/limit"
)

// cpu gives the pod's first container so much CPU, as request and limit.
func cpu(amount string) option {
	return func(s *scene) {
		list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
		s.slot.Pod.Object.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: list, Limits: list}
	}
}

// given sets the limits that a run was last given.
func given(l limit.Limits) func(*node.Container) { return func(c *node.Container) { c.Limits = &l } }

func resized(s *scene) { s.slot.Pod.Resized = ago(1) }

// waits is a pod that goes on with the CPU that it had.
func waits(had string) option {
	return func(s *scene) {
		list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(had)}
		s.slot.Pod.Resize = &node.Resize{Held: map[string]corev1.ResourceRequirements{"app": {Requests: list, Limits: list}}}
	}
}

func TestResize(t *testing.T) {
	small := limit.Limits{CPUShares: 102, CPUQuota: 10_000, CPUPeriod: 100_000}
	large := limit.Limits{CPUShares: 204, CPUQuota: 20_000, CPUPeriod: 100_000}
	in := func(l limit.Limits) limit.Limits { l.Pids = 10; return l }
	app := func(change ...func(*node.Container)) option { return run("app", node.ContainerRunning, change...) }
	const toLarge = "resize app app-0 to shares=204 cpu=20000/100000"
	testStep(t, resize, []stepCase{
		{"what it should have it has", pod(always, cpu("200m"), ready, app(given(large))), ""},
		{"other limits are given", pod(always, cpu("200m"), resized, ready, app(given(small))), toLarge},
		{"what an earlier agent gave is given again", pod(always, cpu("200m"), resized, ready, app()), toLarge},
		{"unless the pod was never resized", pod(always, cpu("200m"), ready, app()), ""},
		{"a pod that waits has what it had", pod(always, cpu("200m"), waits("100m"), ready, app(given(small))), ""},
		{"a run that is to end is not resized", pod(always, cpu("200m"), resized, restartOf("app", 0), ready, app(given(small))), ""},
		{"nor is one of another image", pod(always, cpu("200m"), resized, newImage, ready, app(given(small))), ""},
		{"nor one that has ended", pod(always, cpu("200m"), resized, ready, exited("app", 0, given(small))), ""},
		{"a failure rests", pod(always, cpu("200m"), resized, ready, app(given(small)), fault("resize/app", 4)), "wake in 4s; why Broken"},
		{"not before its pod has room", pod(always, grouped, cpu("200m"), resized, ready, bound(in(small)), app(given(small))), ""},
		{"but then", pod(always, grouped, cpu("200m"), resized, ready, bound(in(large)), app(given(small))), toLarge},
		{"one that may be in its pod's way goes ahead", pod(always, grouped, cpu("200m"), resized, ready, app(), fault("cgroup", 4)), toLarge},
	})
	testPod(t, []stepCase{
		{"the pod grows first", pod(always, grouped, cpu("200m"), resized, ready, pulled, bound(in(small)), app(given(small))),
			"set up cgroup shares=204 cpu=20000/100000 pids=10"},
		{"then what is in it", pod(always, grouped, cpu("200m"), resized, ready, pulled, bound(in(large)), app(given(small))), toLarge},
		{"what is in it shrinks first", pod(always, grouped, cpu("100m"), resized, ready, pulled, bound(in(large)), app(given(large))),
			"resize app app-0 to shares=102 cpu=10000/100000"},
		{"then the pod", pod(always, grouped, cpu("100m"), resized, ready, pulled, bound(in(large)), app(given(small))),
			"set up cgroup shares=102 cpu=10000/100000 pids=10"},
		{"with a restart the run ends before the pod shrinks", pod(always, grouped, cpu("100m"), resized, restartOf("app", 0), ready, pulled, bound(in(large)), app(given(large))),
			"stop app app-0 grace=30s: a restart was asked for"},
		{"a new run waits for room", pod(always, grouped, cpu("200m"), resized, ready, pulled, bound(in(small)), tally("app", 1, 0), exited("app", 1)),
			"set up cgroup shares=204 cpu=20000/100000 pids=10"},
	})
}
