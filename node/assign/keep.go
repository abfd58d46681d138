package assign

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"nodal/node"
)

// Keep has a pod that runs keep the CPUs and devices that another kubelet has given it. It returns the pod's shares with
// those in their place, and whether the pod has them: they are as many as it asks for, and no other pod's. r may be nil.
func (r *Rules) Keep(pod *corev1.Pod, shares, before node.Shares, held []node.Shares) (node.Shares, bool) {
	taken := cpuset.New()
	for _, other := range held {
		taken = taken.Union(exclusive(other))
	}
	kept := node.Shares{}
	for c := range node.Containers(&pod.Spec) {
		share, had := shares[c.Name], before[c.Name]
		for name := range share.Devices {
			if had.Devices[name] == nil {
				return shares, false
			}
		}
		share.CPUs, share.Devices = "", had.Devices
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
