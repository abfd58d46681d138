package limit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The figures are those of Kubernetes' own tables for a factor of 0.9 and a limit of 1000.
func TestAContainerIsSlowedDownBetweenItsRequestAndItsLimit(t *testing.T) {
	m := Memory{Throttle: 0.9, Page: 1}
	for request, want := range map[int64]int64{0: 900, 100: 910, 500: 950, 900: 990, 1000: 0} {
		if got := m.high(corev1.PodQOSBurstable, request, 1000); got != want {
			t.Errorf("request %d: got %d, want %d", request, got, want)
		}
	}
	for _, c := range []struct {
		name          string
		m             Memory
		class         corev1.PodQOSClass
		request, most int64
		want          int64
	}{
		{"whole pages", Memory{Throttle: 0.9, Page: 4096}, corev1.PodQOSBurstable, 0, 8 * 4096, 7 * 4096},
		{"the whole limit", Memory{Throttle: 1, Page: 4096}, corev1.PodQOSBurstable, 4096, 3 * 4096, 3 * 4096},
		{"less than a page above the request", Memory{Throttle: 0.5, Page: 4096}, corev1.PodQOSBurstable, 4096, 2*4096 - 1, 0},
		{"a guaranteed pod", m, corev1.PodQOSGuaranteed, 500, 1000, 0},
		{"best effort", m, corev1.PodQOSBestEffort, 0, 1000, 900},
		{"a limit that nobody knows", m, corev1.PodQOSBestEffort, 0, 0, 0},
		{"no factor", Memory{Page: 1}, corev1.PodQOSBurstable, 500, 1000, 0},
	} {
		if got := c.m.high(c.class, c.request, c.most); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestTheKernelKeepsWhatPodsRequest(t *testing.T) {
	burst := asks(quantities("cpu", "1", "memory", "64Mi"), quantities("cpu", "1", "memory", "128Mi"))
	sure := asks(quantities("cpu", "1", "memory", "64Mi"), quantities("cpu", "1", "memory", "64Mi"))
	cpuOnly := asks(quantities("cpu", "1"), nil)
	whole := func(containers ...corev1.Container) *corev1.Pod {
		return having(podOf(containers...), func(s *corev1.PodSpec) {
			s.Resources = &corev1.ResourceRequirements{
				Requests: quantities("memory", "100Mi"), Limits: quantities("memory", "200Mi"),
			}
		})
	}
	always := corev1.ContainerRestartPolicyAlways
	starting := func(restarts *corev1.ContainerRestartPolicy) *corev1.Pod {
		return having(podOf(burst), func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{burst}
			s.InitContainers[0].RestartPolicy = restarts
		})
	}
	rules := Memory{Keep: true, Throttle: 0.5, Page: mebi, Allocatable: 1024 * mebi}
	for _, c := range []struct {
		name           string
		pod            *corev1.Pod
		rules          Memory
		ofPod, ofFirst string
	}{
		{"burstable", podOf(burst), rules, "memory.low=67108864", "memory.low=67108864 memory.high=100663296"},
		{"guaranteed", podOf(sure), rules, "memory.min=67108864", "memory.min=67108864"},
		{"best effort", podOf(asks(nil, nil)), rules, "", "memory.high=536870912"},
		{"burstable without a request for memory", podOf(cpuOnly), rules, "", "memory.high=536870912"},
		{"burstable as one container is", podOf(sure, burst), rules, "memory.low=134217728", "memory.low=67108864"},
		{"memory for the pod as a whole", whole(asks(nil, nil)), rules,
			"memory.low=104857600 memory.high=157286400", "memory.high=104857600"},
		{"and a container's own in it", whole(burst), rules,
			"memory.low=104857600 memory.high=157286400", "memory.low=67108864 memory.high=100663296"},
		{"a sidecar counts", starting(&always), rules, "memory.low=134217728", "memory.low=67108864 memory.high=100663296"},
		{"what starts before does not", starting(nil), rules, "memory.low=67108864", "memory.low=67108864 memory.high=100663296"},
		{"overhead is kept too", having(podOf(burst), func(s *corev1.PodSpec) { s.Overhead = quantities("memory", "1Mi") }), rules,
			"memory.low=68157440", "memory.low=67108864 memory.high=100663296"},
		{"throttling alone", podOf(burst), Memory{Throttle: 0.5, Page: mebi}, "", "memory.high=100663296"},
		{"keeping alone", podOf(burst), Memory{Keep: true}, "memory.low=67108864", "memory.low=67108864"},
		{"neither", whole(burst), Memory{}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := OfPod(c.pod, Rules{Memory: c.rules}).Guard(); got != c.ofPod {
				t.Errorf("the pod has %q, want %q", got, c.ofPod)
			}
			first := &c.pod.Spec.Containers[0]
			if got := OfContainer(c.pod, first, Rules{Memory: c.rules}).Guard(); got != c.ofFirst {
				t.Errorf("its container has %q, want %q", got, c.ofFirst)
			}
		})
	}
}

func TestAPodsGuardGrowsBeforeItShrinks(t *testing.T) {
	small, big := Limits{MemoryLow: 10, MemoryHigh: 50}, Limits{MemoryLow: 20, MemoryHigh: 80}
	if got, want := small.Over(big).Guard(), "memory.low=20 memory.high=80"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := small.Over(Limits{MemoryMin: 5}).Guard(); got != "memory.min=5 memory.low=10" {
		t.Errorf("over one that is never slowed down: got %q, want no memory.high", got)
	}
}
