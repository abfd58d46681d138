package cri

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node/limit"
)

func linuxResources(pod *corev1.Pod, c *corev1.Container, limits limit.Limits, machine Machine) *runtimeapi.LinuxContainerResources {
	resources := &runtimeapi.LinuxContainerResources{
		CpuShares:          limits.CPUShares,
		CpuPeriod:          limits.CPUPeriod,
		CpuQuota:           limits.CPUQuota,
		CpusetCpus:         limits.CPUs,
		CpusetMems:         limits.Mems,
		MemoryLimitInBytes: limits.Memory,
		OomScoreAdj:        limit.OOMScore(pod, c, machine.Memory),
		HugepageLimits:     hugePages(c, machine.HugePageSizes),
	}
	resources.Unified = map[string]string{}
	if machine.OOMGroup {
		resources.Unified["memory.oom.group"] = "1"
	}
	if machine.SwapLimits != nil && machine.SwapLimits() {
		resources.Unified["memory.swap.max"] = strconv.FormatInt(machine.Swap.Of(pod, c, machine.Memory), 10)
	}
	return resources
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
