package status

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/node/limit"
)

func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

// sized gives the application container amounts, as requests and limits.
func sized(list corev1.ResourceList) option {
	return func(s *scene) {
		s.slot.Pod.Object.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: list, Limits: list}
	}
}

func TestResources(t *testing.T) {
	small := limit.Limits{CPUShares: 102, CPUQuota: 10_000, CPUPeriod: 100_000, Memory: 32 << 20}
	resized := func(s *scene) { s.slot.Pod.Resized = at(9) }
	gets := func(l limit.Limits) option {
		return func(s *scene) {
			s.got.Containers = []node.Container{{ID: "c1", SandboxID: "s0", UID: "u1", Name: "app", State: node.ContainerRunning, Inspected: true, Limits: &l}}
		}
	}
	held := func(s *scene) {
		list := amounts("100m", "32Mi")
		s.slot.Pod.Resize = &node.Resize{Reason: "Deferred", Message: "no room", Held: map[string]corev1.ResourceRequirements{"app": {Requests: list, Limits: list}}}
	}
	broken := func(s *scene) { s.got.Faults[node.ResizeTarget("app")] = node.Fault{Message: "it does not work"} }
	for _, c := range []struct {
		name           string
		pod            *scene
		allocated, has corev1.ResourceList
		condition      string // type, reason and message
	}{
		{"it has what it asks for", pod(corev1.RestartPolicyAlways, sized(amounts("100m", "32Mi")), gets(small)),
			amounts("100m", "32Mi"), amounts("100m", "32Mi"), ""},
		{"it is allowed more, and does not have it yet", pod(corev1.RestartPolicyAlways, sized(amounts("300m", "64Mi")), resized, gets(small)),
			amounts("300m", "64Mi"), amounts("100m", "32Mi"), "PodResizeInProgress"},
		{"it cannot be given", pod(corev1.RestartPolicyAlways, sized(amounts("300m", "64Mi")), resized, gets(small), broken),
			amounts("300m", "64Mi"), amounts("100m", "32Mi"), "PodResizeInProgress Error it does not work"},
		{"it has to wait", pod(corev1.RestartPolicyAlways, sized(amounts("300m", "64Mi")), held, gets(small)),
			amounts("100m", "32Mi"), amounts("100m", "32Mi"), "PodResizePending Deferred no room"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.pod.status()
			s := got.ContainerStatuses[0]
			for name, want := range c.allocated {
				if is := s.AllocatedResources[name]; is.Cmp(want) != 0 {
					t.Errorf("allocated %s: got %s, want %s", name, is.String(), want.String())
				}
			}
			for name, want := range c.has {
				if is := s.Resources.Limits[name]; is.Cmp(want) != 0 {
					t.Errorf("limit of %s: got %s, want %s", name, is.String(), want.String())
				}
			}
			condition := ""
			for _, had := range got.Conditions {
				if had.Type == corev1.PodResizePending || had.Type == corev1.PodResizeInProgress {
					condition = string(had.Type)
					if had.Reason != "" {
						condition += " " + had.Reason + " " + had.Message
					}
				}
			}
			if condition != c.condition {
				t.Errorf("got condition %q, want %q", condition, c.condition)
			}
		})
	}
}

func TestResourcesOfAPodAsAWhole(t *testing.T) {
	for name, test := range map[string]struct {
		change option
		want   string
	}{
		"it has what it asks for": {func(*scene) {}, "300m"},
		"it has to wait": {func(s *scene) {
			s.slot.Pod.Resize = &node.Resize{Reason: "Deferred", Held: map[string]corev1.ResourceRequirements{"": {Requests: amounts("100m", "32Mi")}}}
		}, "100m"},
	} {
		asks := func(s *scene) {
			s.slot.Pod.Object.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("300m", "64Mi")}
		}
		got := pod(corev1.RestartPolicyAlways, asks, test.change).status()
		if cpu := got.AllocatedResources.Cpu().String(); cpu != test.want || got.Resources.Requests.Cpu().String() != test.want {
			t.Errorf("%s: got %s of CPU, want %s", name, cpu, test.want)
		}
	}
	small := limit.Limits{CPUShares: 102, CPUQuota: 10_000, CPUPeriod: 100_000, Memory: 32 << 20}
	behind := func(s *scene) { s.got.Lay(node.Cgroup, "", node.Part{Limits: small}) }
	loose := func(s *scene) {
		s.slot.Pod.Object.Spec.Containers = append(s.slot.Pod.Object.Spec.Containers, corev1.Container{Name: "loose"})
	}
	storage := func(s *scene) {
		s.slot.Pod.Object.Spec.Containers[0].Resources.Requests[corev1.ResourceEphemeralStorage] = resource.MustParse("1Gi")
	}
	for name, test := range map[string]struct {
		change option
		want   string // CPU and memory that it is allowed, that it has as requests and as limits
	}{
		"its containers' amounts are its own":           {func(*scene) {}, "300m 64Mi 300m 64Mi 300m 64Mi"},
		"its cgroup has not got them yet":               {behind, "300m 64Mi 100m 64Mi 100m 32Mi"},
		"a container without a limit leaves it without": {loose, "300m 64Mi 300m 64Mi 0 0"},
		"storage is no matter of its cgroup":            {storage, "300m 64Mi 300m 64Mi 300m 64Mi"},
	} {
		got := pod(corev1.RestartPolicyAlways, sized(amounts("300m", "64Mi")), test.change).status()
		var shown []string
		for _, list := range []corev1.ResourceList{got.AllocatedResources, got.Resources.Requests, got.Resources.Limits} {
			shown = append(shown, list.Cpu().String(), list.Memory().String())
		}
		if is := strings.Join(shown, " "); is != test.want || len(got.Resources.Requests) > 2 {
			t.Errorf("%s: got %s in %+v, want %s", name, is, got.Resources, test.want)
		}
	}
	if got := pod(corev1.RestartPolicyAlways).status(); got.Resources != nil || got.AllocatedResources != nil {
		t.Errorf("a pod that asks for nothing as a whole has %v", got.Resources)
	}
}
