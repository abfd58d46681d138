package assign

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"nodal/node"
)

// Keep has a pod that runs keep the CPUs, memory and devices that another kubelet has given it. It returns the pod's shares
// with those in their place, and whether the pod has them: they are as many as it asks for, and no other pod's. Memory stays
// as in shares if there is no word of it, or none that fits. r may be nil.
func (r *Rules) Keep(pod *corev1.Pod, shares, before node.Shares, held []node.Shares) (node.Shares, bool) {
	taken := cpuset.New()
	for _, other := range held {
		taken = taken.Union(exclusive(other))
	}
	kept, memory := node.Shares{}, r.keepMemory(pod, before, held)
	for c := range node.Containers(&pod.Spec) {
		share, had := shares[c.Name], before[c.Name]
		for name := range share.Devices {
			if had.Devices[name] == nil {
				return shares, false
			}
		}
		share.CPUs, share.Devices = "", had.Devices
		if memory != nil {
			share.Mems, share.Memory, share.Start = memory[c.Name].Mems, memory[c.Name].Memory, memory[c.Name].Start
		}
		if r != nil && r.Static {
			cpus, err := cpuset.Parse(had.CPUs)
			if err != nil || cpus.Size() != CPUs(pod, c) || !cpus.Intersection(taken.Union(r.Reserved)).IsEmpty() || !cpus.IsSubsetOf(r.Topology.All()) {
				return shares, false
			}
			share.CPUs = had.CPUs
		}
		for name, ids := range had.Devices {
			if amount := c.Resources.Limits[name]; amount.Value() != int64(len(ids)) || holds(held, name, ids) {
				return shares, false
			}
		}
		if !share.Empty() {
			kept[c.Name] = share
		}
	}
	return kept, len(kept) > 0
}

// keepMemory returns the memory that another kubelet has given to the containers of a pod: what each asks for, of NUMA nodes
// that have it beside what other pods hold. It returns nil if that is not so.
func (r *Rules) keepMemory(pod *corev1.Pod, before node.Shares, held []node.Shares) node.Shares {
	if r == nil || r.Memory == nil {
		return nil
	}
	s, kept := r.stock(held), node.Shares{}
	for c := range node.Containers(&pod.Spec) {
		wants, had, start := MemoryOf(pod, c), before[c.Name], ForStart(pod, c)
		// Upstream takes memory back from init containers once the application begins.
		if len(wants) == 0 || start && had.Mems == "" {
			continue
		}
		mems, err := cpuset.Parse(had.Mems)
		ids := mems.List()
		fits := err == nil && len(ids) > 0 && !slices.ContainsFunc(ids, func(id int) bool { return !slices.Contains(s.ids, id) })
		// Upstream counts what init containers have less than once, as others have it after them.
		if !fits || !start && !maps.Equal(SumOf(had.Memory), wants) || !s.groups.open(ids) || !s.free().room(ids, wants) {
			return nil
		}
		kept[c.Name] = node.Share{Mems: mems.String(), Memory: s.draw(ids, wants, start), Start: start}
		if !start {
			s.groups.add(ids)
		}
	}
	return kept
}

// holds reports whether one of the devices is among the shares of pods.
func holds(held []node.Shares, name corev1.ResourceName, ids []string) bool {
	return slices.ContainsFunc(held, func(shares node.Shares) bool {
		for _, share := range shares {
			if slices.ContainsFunc(share.Devices[name], func(id string) bool { return slices.Contains(ids, id) }) {
				return true
			}
		}
		return false
	})
}
