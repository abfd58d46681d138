package admit

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node/health"
	"nodal/node/limit"
)

// PIDs can be reserved like CPU and memory, though no pod asks for them.
const PIDs corev1.ResourceName = "pid"

// Machine holds a machine's resources, before anything is set aside.
type Machine struct {
	CPUs      int
	Memory    int64 // bytes
	Disk      int64 // bytes of the file system that pods write to
	Swap      int64 // bytes
	PIDs      int64 // processes that the kernel has room for; zero if it does not say
	HugePages []HugePages
	// Extended are resources beside Kubernetes' own, such as devices.
	Extended corev1.ResourceList
}

// HugePages are the pages of one size that a machine has set aside.
type HugePages struct {
	Size   int64 // bytes of one page
	Number int64
}

// Resource returns their name and amount in Kubernetes' words, such as hugepages-2Mi.
func (h HugePages) Resource() (corev1.ResourceName, resource.Quantity) {
	size := resource.NewQuantity(h.Size, resource.BinarySI)
	return corev1.ResourceName(corev1.ResourceHugePagesPrefix + size.String()), *resource.NewQuantity(h.Size*h.Number, resource.BinarySI)
}

// Capacity lists all that a machine has, and how many pods it may have.
func (m Machine) Capacity(pods int) corev1.ResourceList {
	list := m.Extended.DeepCopy()
	if list == nil {
		list = corev1.ResourceList{}
	}
	list[corev1.ResourceCPU] = *resource.NewQuantity(int64(m.CPUs), resource.DecimalSI)
	list[corev1.ResourceMemory] = *resource.NewQuantity(m.Memory, resource.BinarySI)
	list[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(m.Disk, resource.BinarySI)
	list[corev1.ResourcePods] = *resource.NewQuantity(int64(pods), resource.DecimalSI)
	for _, pages := range m.HugePages {
		name, amount := pages.Resource()
		list[name] = amount
	}
	return list
}

// InHugePages returns the memory that only pods which ask for huge pages can use.
func (m Machine) InHugePages() int64 {
	var bytes int64
	for _, pages := range m.HugePages {
		bytes += pages.Size * pages.Number
	}
	return bytes
}

// Reserved holds what the node's owner keeps from pods.
type Reserved struct {
	Kube, System corev1.ResourceList         // for other programs
	Eviction     map[string]health.Threshold // that has to be left, by signal
	HoldAll      bool                        // all pods together are held to the rest
}

// Allocatable returns the part of a capacity that pods may have. The error names each resource of
// which more is reserved than there is.
func (r Reserved) Allocatable(m Machine, capacity corev1.ResourceList) (corev1.ResourceList, error) {
	pages := corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(m.InHugePages(), resource.BinarySI)}
	return Left(capacity, append(r.programs(), r.leftFree(capacity), Reservation{Setting: "huge pages", List: pages})...)
}

// AllPods returns the limits of all pods together. Eviction thresholds are not taken off, as in Kubernetes: pods are
// evicted before the kernel has to end them.
func (r Reserved) AllPods(m Machine, capacity corev1.ResourceList) (limit.Limits, error) {
	all := capacity.DeepCopy()
	if m.PIDs > 0 {
		all[PIDs] = *resource.NewQuantity(m.PIDs, resource.DecimalSI)
	}
	var err error
	if r.HoldAll {
		all, err = Left(all, r.programs()...)
	}
	pids := all[PIDs]
	return limit.Limits{
		CPUShares: limit.CPUShares(all.Cpu().MilliValue()), Memory: all.Memory().Value(), Pids: pids.Value(),
	}, err
}

// Memory returns the bytes that are not reserved for other programs. What eviction keeps free is part of them.
func (r Reserved) Memory(capacity corev1.ResourceList) int64 {
	left, _ := Left(capacity, r.programs()...) // AllPods and Allocatable tell of a fault
	return left.Memory().Value()
}

// programs lists what is reserved for other programs than pods.
func (r Reserved) programs() []Reservation {
	return []Reservation{{Setting: "kubeReserved", List: r.Kube}, {Setting: "systemReserved", List: r.System}}
}

// leftFree lists what has to stay unused: the thresholds of evictionHard.
func (r Reserved) leftFree(capacity corev1.ResourceList) Reservation {
	list := corev1.ResourceList{}
	for signal, threshold := range r.Eviction {
		if name := health.Resource(signal); name != "" {
			list[name] = threshold.Of(capacity[name])
		}
	}
	return Reservation{Setting: "evictionHard", List: list}
}
