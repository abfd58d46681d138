package spec

import (
	"maps"
	"testing"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node/limit"
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
	pod := specPod(func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{
			Requests: quantities("cpu", "250m", "memory", "1Gi"), Limits: quantities("cpu", "500m", "memory", "2Gi"),
		}
	})
	limits := limit.Limits{CPUShares: 256, CPUPeriod: 100_000, CPUQuota: 50_000, Memory: 2 << 30, CPUs: "2-3", Mems: "1"}
	run := runOf(pod)
	run.Limits = limits
	got := Machine{Memory: 10 << 30}.resources(run)
	want := &runtimeapi.LinuxContainerResources{
		CpuShares: 256, CpuPeriod: 100_000, CpuQuota: 50_000, CpusetCpus: "2-3", CpusetMems: "1", MemoryLimitInBytes: 2 << 30, OomScoreAdj: 900,
	}
	if !proto.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTheOverheadOfAPodIsToldApart(t *testing.T) {
	whole := limit.Limits{CPUShares: 768, CPUPeriod: 100_000, CPUQuota: 150_000, Memory: 3 << 30}
	pod := specPod(func(*corev1.Pod) {})
	overhead, rest := SandboxResources(pod, whole)
	if !proto.Equal(overhead, &runtimeapi.LinuxContainerResources{}) || !proto.Equal(rest, Resources(whole)) {
		t.Errorf("without an overhead got %s and %s, want all in the second", overhead, rest)
	}
	pod.Spec.Overhead = quantities("cpu", "250m", "memory", "1Gi")
	overhead, rest = SandboxResources(pod, whole)
	wantOver := &runtimeapi.LinuxContainerResources{CpuShares: 256, CpuPeriod: 100_000, CpuQuota: 25_000, MemoryLimitInBytes: 1 << 30}
	wantRest := &runtimeapi.LinuxContainerResources{CpuShares: 512, CpuPeriod: 100_000, CpuQuota: 125_000, MemoryLimitInBytes: 2 << 30}
	if !proto.Equal(overhead, wantOver) || !proto.Equal(rest, wantRest) {
		t.Errorf("got  %s and %s\nwant %s and %s", overhead, rest, wantOver, wantRest)
	}
	if _, rest = SandboxResources(pod, limit.Limits{CPUShares: 2}); rest.CpuShares != limit.MinCPUShares || rest.CpuQuota != 0 || rest.MemoryLimitInBytes != 0 {
		t.Errorf("a pod without bounds got %s", rest)
	}
}

func TestHugePagesAreBoundForEverySize(t *testing.T) {
	c := &corev1.Container{Resources: corev1.ResourceRequirements{Limits: quantities("hugepages-2Mi", "64Mi")}}
	got := hugePages(c, []string{"2MB", "1GB"})
	if len(got) != 2 || got[0].PageSize != "2MB" || got[0].Limit != 64<<20 || got[1].PageSize != "1GB" || got[1].Limit != 0 {
		t.Errorf("got %v, want 64 MiB of 2MB pages and none of 1GB", got)
	}
}

func TestSwapIsLimitedWhereTheKernelCan(t *testing.T) {
	pod := specPod(func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = quantities("memory", "1Gi")
	})
	machine := Machine{Memory: 8 << 30, Swap: limit.Swap{Limited: true, Total: 4 << 30}}
	if got, has := machine.resources(runOf(pod)).Unified["memory.swap.max"]; has {
		t.Errorf("memory.swap.max is %s where there is no such file", got)
	}
	machine.SwapLimits = true
	if got := machine.resources(runOf(pod)).Unified["memory.swap.max"]; got != "536870912" {
		t.Errorf("memory.swap.max is %q, want an eighth of the swap", got)
	}
}

func TestOnlyWhatIsKeptOfANewContainersMemoryIsNamed(t *testing.T) {
	run := runOf(specPod(nil))
	run.Limits = limit.Limits{MemoryLow: 64 << 20, MemoryHigh: 96 << 20}
	got := Machine{Guards: true}.resources(run).Unified
	if want := map[string]string{"memory.low": "67108864", "memory.high": "100663296"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	run.Limits = limit.Limits{}
	if got := (Machine{Guards: true}).resources(run).Unified; len(got) != 0 {
		t.Errorf("without a guard: got %v, want nothing", got)
	}
}

func TestAChangeTakesBackWhatWasKept(t *testing.T) {
	limits := limit.Limits{CPUShares: 2, MemoryMin: 4096}
	want := map[string]string{"memory.min": "4096", "memory.low": "0", "memory.high": "max"}
	if got := (Machine{Guards: true}).Changed(limits).Unified; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := (Machine{}).Changed(limits).Unified; len(got) != 0 {
		t.Errorf("on version 1 of cgroups: got %v, want nothing", got)
	}
}

func TestTheGuardOfAContainersMemoryIsReadBack(t *testing.T) {
	for _, limits := range []limit.Limits{{}, {MemoryMin: 1}, {MemoryLow: 1 << 20, MemoryHigh: 1 << 21}} {
		run := runOf(specPod(nil))
		run.Limits = limits
		machine := Machine{Guards: true, OOMGroup: true}
		for _, written := range []*runtimeapi.LinuxContainerResources{machine.resources(run), machine.Changed(limits)} {
			if got := GuardOf(written); got != limits.Guard() {
				t.Errorf("got %q of %v, want %q", got, written, limits.Guard())
			}
		}
	}
	if got := GuardOf(nil); got != "" {
		t.Errorf("from a runtime that reports nothing: got %q, want nothing", got)
	}
}

func TestOOMGroupIsAskedForOnlyWhereTheKernelHasIt(t *testing.T) {
	pod := specPod(nil)
	for _, has := range []bool{false, true} {
		got := Machine{OOMGroup: has}.resources(runOf(pod)).Unified["memory.oom.group"]
		if (got == "1") != has {
			t.Errorf("with OOMGroup %t memory.oom.group is %q", has, got)
		}
	}
}
