package assign

import (
	"k8s.io/utils/cpuset"

	"nodal/node"
)

// Use holds figures about the assignment of a machine's CPUs.
type Use struct {
	Own   int         // that are exclusive to a container
	Nodes map[int]int // of these, by NUMA node
	Free  int         // that are neither exclusive nor reserved
}

// Use computes the figures from the shares that pods hold. Where CPUs are not handed out,
// only earlier promises count.
func (r *Rules) Use(held []node.Shares) Use {
	own := cpuset.New()
	for _, shares := range held {
		own = own.Union(exclusive(shares))
	}
	use := Use{Own: own.Size(), Nodes: map[int]int{}}
	if !r.Static {
		return use
	}
	for id := range r.Topology.split(r.Topology.All(), numa) {
		use.Nodes[id] = 0
	}
	for id, cpus := range r.Topology.split(own, numa) {
		use.Nodes[id] = cpus.Size()
	}
	use.Free = r.Topology.All().Difference(own).Difference(r.Reserved).Size()
	return use
}
