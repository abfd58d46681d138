package cri

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The kernel's and Kubernetes' numbers for CPU time.
const (
	cpuPeriod    = 100_000 // microseconds
	minCPUQuota  = 1_000   // microseconds; the kernel refuses less
	minCPUShares = 2
	maxCPUShares = 262_144
	sharesPerCPU = 1024
	milliPerCPU  = 1000
)

// Who is killed first when the machine runs out of memory: best effort, then
// burstable by how far beyond its request, guaranteed last.
const (
	oomGuaranteed = -997
	oomBestEffort = 1000
)

const nodeCritical = "system-node-critical"

func linuxResources(pod *corev1.Pod, c *corev1.Container, machine Machine) *runtimeapi.LinuxContainerResources {
	request, limit := c.Resources.Requests.Cpu(), c.Resources.Limits.Cpu()
	if _, asked := c.Resources.Requests[corev1.ResourceCPU]; !asked {
		request = limit
	}
	resources := &runtimeapi.LinuxContainerResources{
		CpuShares:          cpuShares(request.MilliValue()),
		CpuPeriod:          cpuPeriod,
		CpuQuota:           cpuQuota(limit.MilliValue()),
		MemoryLimitInBytes: c.Resources.Limits.Memory().Value(),
		OomScoreAdj:        oomScore(pod, c, machine.Memory),
		HugepageLimits:     hugePages(c, machine.HugePageSizes),
	}
	if machine.OOMGroup {
		resources.Unified = map[string]string{"memory.oom.group": "1"}
	}
	return resources
}

func cpuShares(milli int64) int64 {
	return min(max(milli*sharesPerCPU/milliPerCPU, minCPUShares), maxCPUShares)
}

// cpuQuota is zero, no bound, for no limit.
func cpuQuota(milli int64) int64 {
	if milli == 0 {
		return 0
	}
	return max(milli*cpuPeriod/milliPerCPU, minCPUQuota)
}

// hugePages bounds every page size that the machine has: what was not asked for
// is zero, not boundless.
func hugePages(c *corev1.Container, sizes []string) []*runtimeapi.HugepageLimit {
	var limits []*runtimeapi.HugepageLimit
	for _, size := range sizes {
		limits = append(limits, &runtimeapi.HugepageLimit{PageSize: size, Limit: hugePageLimit(c, size)})
	}
	return limits
}

func hugePageLimit(c *corev1.Container, size string) uint64 {
	for name, quantity := range c.Resources.Limits {
		text, ok := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix)
		if !ok {
			continue
		}
		// Kubernetes writes 2Mi where the kernel writes 2MB.
		pages, err := resource.ParseQuantity(text)
		kernel, kernelErr := resource.ParseQuantity(strings.Replace(size, "B", "i", 1))
		if err == nil && kernelErr == nil && pages.Cmp(kernel) == 0 {
			return uint64(quantity.Value())
		}
	}
	return 0
}

func oomScore(pod *corev1.Pod, c *corev1.Container, memory int64) int64 {
	if pod.Spec.PriorityClassName == nodeCritical {
		return oomGuaranteed
	}
	switch qosClass(pod) {
	case corev1.PodQOSGuaranteed:
		return oomGuaranteed
	case corev1.PodQOSBestEffort:
		return oomBestEffort
	}
	if !isSidecar(c) {
		return burstableScore(c, memory)
	}
	// A sidecar must not be killed before the containers that lean on it.
	score := burstableScore(c, memory)
	for i := range pod.Spec.Containers {
		score = min(score, burstableScore(&pod.Spec.Containers[i], memory))
	}
	return score
}

// burstableScore stays clear of both ends, which belong to the other classes.
func burstableScore(c *corev1.Container, memory int64) int64 {
	if memory <= 0 {
		return oomBestEffort - 1
	}
	score := 1000 - 1000*c.Resources.Requests.Memory().Value()/memory
	return min(max(score, 1000+oomGuaranteed), oomBestEffort-1)
}

// qosClass is Kubernetes' class of service: guaranteed when every container's
// CPU and memory limits equal its requests, best effort when none asks at all.
func qosClass(pod *corev1.Pod) corev1.PodQOSClass {
	any, all := false, true
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				limit := list[i].Resources.Limits[name]
				request, asked := list[i].Resources.Requests[name]
				any = any || !limit.IsZero() || !request.IsZero()
				all = all && !limit.IsZero() && (!asked || request.Cmp(limit) == 0)
			}
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case all:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}
