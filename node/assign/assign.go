package assign

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resources "k8s.io/component-helpers/resource"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/limit"
)

// Pod hands out shares to a pod's containers, beside those that others hold, or says
// why there are none.
func (r *Rules) Pod(pod *corev1.Pod, held []node.Shares) (node.Shares, *node.Refusal) {
	if !r.Static && r.Memory == nil {
		return nil, nil
	}
	shares, err := r.stock(held).shares(pod)
	if err == nil {
		return shares, nil
	}
	refusal := &node.Refusal{Reason: "UnexpectedAdmissionError", Message: fmt.Sprintf("Allocate failed due to %s, which is unexpected", err)}
	if named, ok := err.(*refused); ok {
		refusal.Reason, refusal.Message = named.reason, named.message
	}
	refusal.Message = "Pod was rejected: " + refusal.Message
	return nil, refusal
}

// Resize says why a running pod keeps what it has: its class may be promised CPUs or
// memory, and those are not exchanged while it runs.
func (r *Rules) Resize(pod *corev1.Pod) *node.Refusal {
	policy := "CPU Manager"
	if !r.Static {
		policy = "Memory Manager"
	}
	if !r.Static && r.Memory == nil || limit.Class(pod) != corev1.PodQOSGuaranteed {
		return nil
	}
	return &node.Refusal{
		Reason: corev1.PodReasonInfeasible, Message: "Resize is infeasible for Guaranteed Pods alongside " + policy + " static policy",
	}
}

// refused is a refusal for which Kubernetes has a word of its own.
type refused struct{ reason, message string }

const (
	reasonCores = "SMTAlignmentError"
	reasonPlace = "TopologyAffinityError"
	tooFewCPUs  = "not enough cpus available to satisfy request"
)

func (r *refused) Error() string { return r.message }

// exclusive are the CPUs that a pod's containers have for their own.
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

// shares goes through a pod's containers in the order in which they begin. One for
// the start gives back what it has to those that come after it.
func (s *stock) shares(pod *corev1.Pod) (node.Shares, error) {
	var shares node.Shares
	near, err := s.all(), error(nil)
	if s.WholePods {
		near, err = s.place(s.peak(pod))
	}
	for c := range node.Containers(&pod.Spec) {
		if err == nil && !s.WholePods {
			near, err = s.place(s.demand(pod, c))
		}
		if err != nil {
			return nil, err
		}
		share, err := s.serve(pod, c, near)
		if err != nil {
			return nil, err
		}
		if share.CPUs == "" && share.Mems == "" {
			continue
		}
		if shares == nil {
			shares = node.Shares{}
		}
		shares[c.Name] = share
	}
	return shares, nil
}

// ForStart says whether a container has ended before the application begins.
func ForStart(pod *corev1.Pod, c *corev1.Container) bool {
	return !node.IsSidecar(c) && node.InitContainer(&pod.Spec, c.Name) != nil
}

// CPUs is how many a container has for its own: those that it asks for, if it asks
// for whole ones in a pod of class Guaranteed.
func CPUs(pod *corev1.Pod, c *corev1.Container) int {
	// What a pod asks for as a whole is nobody's in particular.
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
func (r *Rules) take(free, again cpuset.CPUSet, count int) (cpuset.CPUSet, error) {
	unit := 1
	if r.Options.FullCores {
		unit = r.Topology.Threads()
		free = r.Topology.whole(free.Union(again), core).Difference(again)
		if err := r.fullCores(free.Union(again), count, unit); err != nil {
			return cpuset.CPUSet{}, err
		}
	}
	if has := free.Union(again).Size(); has < count {
		return cpuset.CPUSet{}, fmt.Errorf(tooFewCPUs+": requested=%d, available=%d", count, has)
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
func (r *Rules) fullCores(free cpuset.CPUSet, count, unit int) error {
	if count%unit != 0 {
		return &refused{reasonCores, fmt.Sprintf("SMT Alignment Error: requested %d cpus not multiple cpus per core = %d", count, unit)}
	}
	if free.Size() < count {
		return &refused{reasonCores, fmt.Sprintf(
			"SMT Alignment Error: not enough free physical CPUs: available physical CPUs = %d, requested CPUs = %d, CPUs per core = %d",
			free.Size(), count, unit)}
	}
	return nil
}
