package spec

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node/limit"
)

// resources limits a new container.
func (m Machine) resources(run Run) *runtimeapi.LinuxContainerResources {
	pod, c := run.Allocated, run.Container
	resources := Resources(run.Limits)
	resources.OomScoreAdj = limit.OOMScore(pod, c, m.Memory)
	resources.HugepageLimits = hugePages(c, m.HugePageSizes)
	resources.Unified = map[string]string{}
	if m.OOMGroup {
		resources.Unified["memory.oom.group"] = "1"
	}
	for _, s := range guard(run.Limits) {
		if s.bytes > 0 {
			resources.Unified[s.file] = s.value()
		}
	}
	if m.SwapLimits {
		resources.Unified["memory.swap.max"] = strconv.FormatInt(m.Swap.Of(pod, c, m.Memory), 10)
	}
	return resources
}

// Changed translates the limits of a running container. It also takes back what kept or slowed its memory before.
func (m Machine) Changed(limits limit.Limits) *runtimeapi.LinuxContainerResources {
	resources := Resources(limits)
	if m.Guards {
		resources.Unified = map[string]string{}
		for _, s := range guard(limits) {
			resources.Unified[s.file] = s.value()
		}
	}
	return resources
}

// bound is a value for one of the kernel's files of cgroup v2.
type bound struct {
	file  string
	bytes int64
	none  string // the kernel's word for no such bound
}

func (b bound) value() string {
	if b.bytes == 0 {
		return b.none
	}
	return strconv.FormatInt(b.bytes, 10)
}

func guard(limits limit.Limits) [3]bound {
	return [...]bound{
		{"memory.min", limits.MemoryMin, "0"}, {"memory.low", limits.MemoryLow, "0"}, {"memory.high", limits.MemoryHigh, "max"},
	}
}

// GuardOf reads back how a container's memory is guarded, as the runtime reports it; see limit.Limits.Guard.
func GuardOf(resources *runtimeapi.LinuxContainerResources) string {
	bytes := func(file string) int64 {
		n, _ := strconv.ParseInt(resources.GetUnified()[file], 10, 64) // "max" and nothing are no bounds
		return n
	}
	return limit.Limits{
		MemoryMin: bytes("memory.min"), MemoryLow: bytes("memory.low"), MemoryHigh: bytes("memory.high"),
	}.Guard()
}

// Resources translates the limits that every kernel may change while a container runs.
func Resources(limits limit.Limits) *runtimeapi.LinuxContainerResources {
	return &runtimeapi.LinuxContainerResources{
		CpuShares:          limits.CPUShares,
		CpuPeriod:          limits.CPUPeriod,
		CpuQuota:           limits.CPUQuota,
		CpusetCpus:         limits.CPUs,
		CpusetMems:         limits.Mems,
		MemoryLimitInBytes: limits.Memory,
	}
}

// SandboxResources divides the limits of a pod as a whole into what its RuntimeClass adds to the pod, and the rest.
func SandboxResources(pod *corev1.Pod, whole limit.Limits) (overhead, rest *runtimeapi.LinuxContainerResources) {
	own := limit.OfOverhead(pod, whole.CPUPeriod)
	if own == (limit.Limits{}) {
		return &runtimeapi.LinuxContainerResources{}, Resources(whole)
	}
	whole.CPUShares = max(whole.CPUShares-own.CPUShares, limit.MinCPUShares)
	whole.CPUQuota = max(whole.CPUQuota-own.CPUQuota, 0)
	whole.Memory = max(whole.Memory-own.Memory, 0)
	return Resources(own), Resources(whole)
}

// hugePages limits every page size that the machine has. A size that was not asked for is limited to zero.
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
