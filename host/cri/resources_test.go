package cri

import (
	"testing"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// quantities reads "cpu", "100m", "memory", "1Gi".
func quantities(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func TestLinuxResources(t *testing.T) {
	const gibi = 1 << 30
	machine := Machine{Memory: 10 * gibi}
	for _, test := range []struct {
		name             string
		requests, limits corev1.ResourceList
		want             *runtimeapi.LinuxContainerResources
	}{
		{"nothing asked for", nil, nil,
			&runtimeapi.LinuxContainerResources{CpuShares: 2, OomScoreAdj: 1000}},
		{"a request alone", quantities("cpu", "500m", "memory", "1Gi"), nil,
			&runtimeapi.LinuxContainerResources{CpuShares: 512, OomScoreAdj: 900}},
		{"a limit alone stands for the request too", nil, quantities("cpu", "2"),
			&runtimeapi.LinuxContainerResources{CpuShares: 2048, CpuQuota: 200_000, OomScoreAdj: 999}},
		{"a request of nothing is not the limit", quantities("cpu", "0"), quantities("cpu", "2"),
			&runtimeapi.LinuxContainerResources{CpuShares: 2, CpuQuota: 200_000, OomScoreAdj: 999}},
		{"what is too little for the kernel", quantities("cpu", "1m"), quantities("cpu", "5m"),
			&runtimeapi.LinuxContainerResources{CpuShares: 2, CpuQuota: 1000, OomScoreAdj: 999}},
		{"more than the kernel takes", quantities("cpu", "1000"), nil,
			&runtimeapi.LinuxContainerResources{CpuShares: 262_144, OomScoreAdj: 999}},
		{"limits as high as requests are guaranteed", quantities("cpu", "1", "memory", "1Gi"), quantities("cpu", "1", "memory", "1Gi"),
			&runtimeapi.LinuxContainerResources{CpuShares: 1024, CpuQuota: 100_000, MemoryLimitInBytes: gibi, OomScoreAdj: -997}},
		{"limits alone are guaranteed", nil, quantities("cpu", "1", "memory", "1Gi"),
			&runtimeapi.LinuxContainerResources{CpuShares: 1024, CpuQuota: 100_000, MemoryLimitInBytes: gibi, OomScoreAdj: -997}},
		{"all the memory is not yet guaranteed", quantities("memory", "10Gi"), nil,
			&runtimeapi.LinuxContainerResources{CpuShares: 2, OomScoreAdj: 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := specPod(func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: test.requests, Limits: test.limits}
			})
			test.want.CpuPeriod = 100_000
			if got := linuxResources(pod, &pod.Spec.Containers[0], machine); !proto.Equal(got, test.want) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestHugePagesAreBoundForEverySize(t *testing.T) {
	c := &corev1.Container{Resources: corev1.ResourceRequirements{Limits: quantities("hugepages-2Mi", "64Mi")}}
	got := hugePages(c, []string{"2MB", "1GB"})
	if len(got) != 2 || got[0].PageSize != "2MB" || got[0].Limit != 64<<20 || got[1].PageSize != "1GB" || got[1].Limit != 0 {
		t.Errorf("got %v, want 64 MiB of 2MB pages and none of 1GB", got)
	}
}

func TestOOMScoreOfSpecialContainers(t *testing.T) {
	pod := specPod(func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "side", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
		p.Spec.Containers[0].Resources.Requests = quantities("memory", "5Gi")
	})
	side := &pod.Spec.InitContainers[0]
	if got, want := oomScore(pod, side, 10<<30), int64(500); got != want {
		t.Errorf("a sidecar has %d, want the %d of what leans on it", got, want)
	}
	pod.Spec.PriorityClassName = "system-node-critical"
	if got, want := oomScore(pod, side, 10<<30), int64(-997); got != want {
		t.Errorf("in a node-critical pod it has %d, want %d", got, want)
	}
}

func TestOOMGroupIsAskedForOnlyWhereTheKernelHasIt(t *testing.T) {
	pod := specPod(nil)
	for _, has := range []bool{false, true} {
		got := linuxResources(pod, &pod.Spec.Containers[0], Machine{OOMGroup: has}).Unified["memory.oom.group"]
		if (got == "1") != has {
			t.Errorf("with OOMGroup %t memory.oom.group is %q", has, got)
		}
	}
}
