package limit

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resources "k8s.io/component-helpers/resource"
)

// Limits holds the kernel's limits of a cgroup. A zero field sets no bound, except
// CPUShares.
type Limits struct {
	CPUShares int64  `json:"CPUShares"` // weight against neighbours, while CPU time is short
	CPUQuota  int64  `json:"CPUQuota"`  // microseconds in each period
	CPUPeriod int64  `json:"CPUPeriod"` // microseconds
	Memory    int64  `json:"Memory"`    // bytes
	Pids      int64  `json:"Pids"`
	CPUs      string `json:"CPUs"` // of a container: those that it may run on, as the kernel lists them
	Mems      string `json:"Mems"` // of a container: NUMA nodes whose memory it may use

	MemoryMin  int64 `json:"MemoryMin"`  // bytes that the kernel never takes away
	MemoryLow  int64 `json:"MemoryLow"`  // bytes that it takes away last
	MemoryHigh int64 `json:"MemoryHigh"` // bytes from which on it slows the processes down
}

// Rules holds the settings of the node's owner for all pods.
type Rules struct {
	CPUPeriod int64 // microseconds; zero means DefaultCPUPeriod
	NoQuota   bool  // a CPU limit bounds nothing
	Pids      int64 // of each pod; zero means no bound
	OwnQuota  bool  // a CPU limit also bounds containers that have CPUs of their own
	Memory    Memory
}

// The kernel's and Kubernetes' numbers for CPU time.
const (
	DefaultCPUPeriod = 100_000 // microseconds

	MinCPUShares = 2
	maxCPUShares = 262_144
	sharesPerCPU = 1024
	milliPerCPU  = 1000
	minCPUQuota  = 1_000 // microseconds; the kernel refuses less
)

// OfPod bounds all that is in a pod together: a sum over its containers, or what
// the pod says for all of them, and its overhead. A container without a limit leaves
// the pod without one.
func OfPod(pod *corev1.Pod, rules Rules) Limits {
	request := resources.PodRequests(pod, resources.PodResourcesOptions{})
	limit := resources.PodLimits(pod, resources.PodResourcesOptions{})
	boundCPU, boundMemory := true, true
	for c := range containers(pod) {
		boundCPU = boundCPU && !c.Resources.Limits.Cpu().IsZero()
		boundMemory = boundMemory && !c.Resources.Limits.Memory().IsZero()
	}
	if r := pod.Spec.Resources; r != nil {
		boundCPU = boundCPU || !r.Limits.Cpu().IsZero()
		boundMemory = boundMemory || !r.Limits.Memory().IsZero()
	}
	limits := Limits{CPUShares: MinCPUShares, Pids: rules.Pids}
	if Class(pod) == corev1.PodQOSBestEffort {
		return limits
	}
	limits.CPUShares = CPUShares(request.Cpu().MilliValue())
	if boundCPU {
		limits.setQuota(limit.Cpu().MilliValue(), rules)
	}
	if boundMemory {
		limits.Memory = limit.Memory().Value()
	}
	class := Class(pod)
	limits.keep(class, request.Memory().Value(), rules.Memory)
	if resources.IsPodLevelResourcesSet(pod) {
		limits.MemoryHigh = rules.Memory.high(class, request.Memory().Value(), limits.Memory)
	}
	return limits
}

// OfContainer bounds one container of a pod. One without a limit of its own has
// that of the pod as a whole.
func OfContainer(pod *corev1.Pod, c *corev1.Container, rules Rules) Limits {
	request := c.Resources.Requests.Cpu()
	if _, asked := c.Resources.Requests[corev1.ResourceCPU]; !asked {
		request = c.Resources.Limits.Cpu()
	}
	cpu, memory := c.Resources.Limits.Cpu(), c.Resources.Limits.Memory()
	if r := pod.Spec.Resources; r != nil {
		if cpu.IsZero() {
			cpu = r.Limits.Cpu()
		}
		if memory.IsZero() {
			memory = r.Limits.Memory()
		}
	}
	limits := Limits{CPUShares: CPUShares(request.MilliValue()), Memory: memory.Value()}
	limits.setQuota(cpu.MilliValue(), rules)
	class, asked := Class(pod), c.Resources.Requests.Memory().Value()
	limits.keep(class, asked, rules.Memory)
	limits.MemoryHigh = rules.Memory.high(class, asked, cmp.Or(limits.Memory, rules.Memory.Allocatable))
	return limits
}

// OfOverhead bounds what a RuntimeClass adds to a pod, as if a container asked for it. It returns the zero value if that
// is nothing.
func OfOverhead(pod *corev1.Pod, period int64) Limits {
	cpu, memory := pod.Spec.Overhead.Cpu(), pod.Spec.Overhead.Memory()
	if cpu.IsZero() && memory.IsZero() {
		return Limits{}
	}
	limits := Limits{CPUShares: CPUShares(cpu.MilliValue()), Memory: memory.Value()}
	limits.setQuota(cpu.MilliValue(), Rules{CPUPeriod: period, NoQuota: period == 0})
	return limits
}

// setQuota bounds CPU time to thousandths of a CPU.
func (l *Limits) setQuota(milli int64, rules Rules) {
	if rules.NoQuota {
		return
	}
	l.CPUPeriod = rules.CPUPeriod
	if l.CPUPeriod == 0 {
		l.CPUPeriod = DefaultCPUPeriod
	}
	if milli > 0 {
		l.CPUQuota = max(milli*l.CPUPeriod/milliPerCPU, minCPUQuota)
	}
}

// CPUShares turns thousandths of a CPU into the kernel's weights.
func CPUShares(milli int64) int64 {
	return min(max(milli*sharesPerCPU/milliPerCPU, MinCPUShares), maxCPUShares)
}

// MilliCPU converts CPU shares back into thousandths of a CPU.
func MilliCPU(shares int64) int64 { return (shares*milliPerCPU + sharesPerCPU - 1) / sharesPerCPU }

// Requested returns what a pod requests: CPU in thousandths, and bytes of memory.
func Requested(pod *corev1.Pod) (cpu, memory int64) {
	request := resources.PodRequests(pod, resources.PodResourcesOptions{})
	return request.Cpu().MilliValue(), request.Memory().Value()
}

// String names the bounds: "shares=512 cpu=50000/100000 memory=134217728 pids=4096".
func (l Limits) String() string {
	parts := []string{fmt.Sprintf("shares=%d", l.CPUShares)}
	if l.CPUQuota > 0 {
		parts = append(parts, fmt.Sprintf("cpu=%d/%d", l.CPUQuota, l.CPUPeriod))
	}
	if l.Memory > 0 {
		parts = append(parts, fmt.Sprintf("memory=%d", l.Memory))
	}
	if l.Pids > 0 {
		parts = append(parts, fmt.Sprintf("pids=%d", l.Pids))
	}
	if l.CPUs != "" {
		parts = append(parts, "cpus="+l.CPUs)
	}
	if l.Mems != "" {
		parts = append(parts, "mems="+l.Mems)
	}
	if guard := l.Guard(); guard != "" {
		parts = append(parts, guard)
	}
	return strings.Join(parts, " ")
}

// Amounts returns the limits without what depends on the machine and its other pods: the CPUs and NUMA nodes that they
// hold on, and where memory is slowed down.
func (l Limits) Amounts() Limits {
	l.CPUs, l.Mems, l.MemoryHigh = "", "", 0
	return l
}

// Over returns limits under which everything passes that one of the two lets pass.
func (l Limits) Over(other Limits) Limits {
	wider := func(a, b int64) int64 {
		if a == 0 || b == 0 {
			return 0
		}
		return max(a, b)
	}
	return Limits{
		CPUShares: max(l.CPUShares, other.CPUShares),
		CPUQuota:  wider(l.CPUQuota, other.CPUQuota), CPUPeriod: max(l.CPUPeriod, other.CPUPeriod),
		Memory: wider(l.Memory, other.Memory), Pids: wider(l.Pids, other.Pids),
		MemoryMin: max(l.MemoryMin, other.MemoryMin), MemoryLow: max(l.MemoryLow, other.MemoryLow),
		MemoryHigh: wider(l.MemoryHigh, other.MemoryHigh),
	}
}

// Cover reports whether a cgroup with these limits may contain one with the inner ones: the kernel
// refuses more CPU time inside than outside.
func (l Limits) Cover(inner Limits) bool {
	return l.CPUQuota == 0 || inner.CPUQuota == 0 || inner.CPUQuota*l.CPUPeriod <= l.CPUQuota*inner.CPUPeriod
}
