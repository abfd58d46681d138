package assign

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resources "k8s.io/component-helpers/resource"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/limit"
)

// Pod assigns shares to a pod's containers beside those that other pods hold, or returns
// why there are none.
func (r *Rules) Pod(pod *corev1.Pod, held []node.Shares) (node.Shares, *node.Refusal) {
	if !r.Static && r.Memory == nil && r.Devices == nil && !holdsDevices(held) {
		return nil, nil
	}
	return r.stock(held).shares(pod)
}

// Resize returns why a running pod keeps its resources: CPUs and memory that are promised
// to its class are not exchanged while it runs.
func (r *Rules) Resize(pod *corev1.Pod) *node.Refusal {
	policy, lack := "CPU Manager", node.LackCPUs
	if !r.Static {
		policy, lack = "Memory Manager", node.LackMemory
	}
	if !r.Static && r.Memory == nil || limit.Class(pod) != corev1.PodQOSGuaranteed {
		return nil
	}
	return &node.Refusal{
		Reason: corev1.PodReasonInfeasible, Message: "Resize is infeasible for Guaranteed Pods alongside " + policy + " static policy", Lack: lack,
	}
}

// refused makes a refusal in Kubernetes' words. Some lacks have no reason of their own there.
func refused(lack node.Lack, reason, message string) *node.Refusal {
	if reason == "" {
		reason, message = "UnexpectedAdmissionError", "Allocate failed due to "+message+", which is unexpected"
	}
	return &node.Refusal{Reason: reason, Message: "Pod was rejected: " + message, Lack: lack}
}

// exclusive returns the exclusive CPUs of a pod's containers.
func exclusive(shares node.Shares) cpuset.CPUSet {
	all := cpuset.New()
	for _, share := range shares {
		// Only what this package wrote is read, and it writes what can be read.
		if cpus, err := cpuset.Parse(share.CPUs); err == nil {
			all = all.Union(cpus)
		}
	}
	return all
}

// shares serves a pod's containers in the order in which they begin. An init container
// gives its share back to those that come after it.
func (s *stock) shares(pod *corev1.Pod) (node.Shares, *node.Refusal) {
	var shares node.Shares
	var refusal *node.Refusal
	near := s.all()
	if s.WholePods {
		near, refusal = s.place(s.peak(pod))
	}
	for c := range node.Containers(&pod.Spec) {
		if refusal == nil && !s.WholePods {
			near, refusal = s.place(s.demand(pod, c))
		}
		if refusal != nil {
			return nil, refusal
		}
		share, refusal := s.serve(pod, c, near)
		if refusal != nil {
			return nil, refusal
		}
		if share.Empty() {
			continue
		}
		if shares == nil {
			shares = node.Shares{}
		}
		shares[c.Name] = share
	}
	return shares, nil
}

// ForStart reports whether a container has ended before the application begins.
func ForStart(pod *corev1.Pod, c *corev1.Container) bool {
	return !node.IsSidecar(c) && node.InitContainer(&pod.Spec, c.Name) != nil
}

// CPUs returns the number of exclusive CPUs of a container: its request, if that is whole
// and the pod's class is Guaranteed.
func CPUs(pod *corev1.Pod, c *corev1.Container) int {
	// A request of the pod as a whole belongs to no container in particular.
	if limit.Class(pod) != corev1.PodQOSGuaranteed || resources.IsPodLevelResourcesSet(pod) {
		return 0
	}
	asked := c.Resources.Requests.Cpu()
	if asked.IsZero() {
		asked = c.Resources.Limits.Cpu()
	}
	if asked.MilliValue()%1000 != 0 {
		return 0
	}
	return int(asked.Value())
}

// take picks CPUs, first of those that are to be used again.
func (r *Rules) take(free, again cpuset.CPUSet, count int) (cpuset.CPUSet, *node.Refusal) {
	unit := 1
	if r.Options.FullCores {
		unit = r.Topology.Threads()
		free = r.Topology.whole(free.Union(again), core).Difference(again)
		if refusal := r.fullCores(free.Union(again), count, unit); refusal != nil {
			return cpuset.CPUSet{}, refusal
		}
	}
	if has := free.Union(again).Size(); has < count {
		return cpuset.CPUSet{}, refused(node.LackCPUs, "", fmt.Sprintf(
			"not enough cpus available to satisfy request: requested=%d, available=%d", count, has))
	}
	switch {
	case again.Size() >= count:
		return r.Topology.pack(again, count, r.levels()), nil
	case r.Options.AcrossNUMA:
		return r.spread(free.Union(again), count, unit), nil
	}
	more := r.Topology.pack(free.Difference(again), count-again.Size(), r.levels())
	return again.Union(more), nil
}

// fullCores refuses what would have a container share a core with another.
func (r *Rules) fullCores(free cpuset.CPUSet, count, unit int) *node.Refusal {
	const reason = "SMTAlignmentError"
	if count%unit != 0 {
		return refused(node.LackCPUs, reason, fmt.Sprintf("SMT Alignment Error: requested %d cpus not multiple cpus per core = %d", count, unit))
	}
	if free.Size() < count {
		return refused(node.LackCPUs, reason, fmt.Sprintf(
			"SMT Alignment Error: not enough free physical CPUs: available physical CPUs = %d, requested CPUs = %d, CPUs per core = %d",
			free.Size(), count, unit))
	}
	return nil
}
