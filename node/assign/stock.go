package assign

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"nodal/node"
)

// stock holds what is left of a machine while the containers of a pod are served.
type stock struct {
	*Rules
	ids    []int         // of the NUMA nodes; a mask means places in here
	cpus   cpuset.CPUSet // that are free
	again  cpuset.CPUSet // that init containers have given back
	memory Memory        // that is free
	spare  Memory        // that init containers have given back
	groups groups
	// shelves hold the devices, by resource.
	shelves map[corev1.ResourceName]*shelf
}

// stock computes what other pods have left.
func (r *Rules) stock(held []node.Shares) *stock {
	s := &stock{
		Rules: r, cpus: r.Topology.All().Difference(r.Reserved), again: cpuset.New(),
		memory: r.Memory.clone(), spare: Memory{}, groups: groups{},
		shelves: r.shelves(held),
	}
	s.ids = slices.Sorted(maps.Keys(r.Topology.split(r.Topology.All(), numa)))
	for _, id := range s.ids {
		s.spare[id] = Amounts{}
	}
	for _, shares := range held {
		s.cpus = s.cpus.Difference(exclusive(shares))
		for _, name := range slices.Sorted(maps.Keys(shares)) {
			s.pay(shares[name])
		}
	}
	return s
}

// pay takes off the memory that a container holds.
func (s *stock) pay(share node.Share) {
	for _, piece := range share.Memory {
		if s.memory[piece.Node] != nil {
			s.memory[piece.Node][piece.Resource] -= piece.Amount
		}
	}
	// Only what this package wrote is read, and it writes what can be read.
	if set, err := cpuset.Parse(share.Mems); err == nil && !share.Start {
		s.groups.add(set.List())
	}
}

// nodes returns the numbers of the NUMA nodes in a mask.
func (s *stock) nodes(m mask) []int {
	var ids []int
	for i, id := range s.ids {
		if m&(1<<i) != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *stock) all() mask { return 1<<len(s.ids) - 1 }

// apart sums the distances between NUMA nodes; zero where distances do not count.
func (s *stock) apart(m mask) int {
	ids, sum := s.nodes(m), 0
	for _, from := range ids {
		for _, to := range ids {
			sum += s.Distances[from][to]
		}
	}
	return sum
}

// on selects the CPUs in the NUMA nodes or, with align-by-socket, in a socket of one of
// them.
func (s *stock) on(m mask, cpus cpuset.CPUSet) cpuset.CPUSet {
	ids := s.nodes(m)
	near := map[int]bool{}
	for _, c := range s.Topology {
		if slices.Contains(ids, c.Node) {
			near[c.Socket] = true
		}
	}
	var found []int
	for _, c := range s.Topology {
		if cpus.Contains(c.ID) && (slices.Contains(ids, c.Node) || s.Options.AlignSocket && near[c.Socket]) {
			found = append(found, c.ID)
		}
	}
	return cpuset.New(found...)
}

// sockets counts the sockets in which NUMA nodes lie.
func (s *stock) sockets(m mask) int {
	ids, found := s.nodes(m), map[int]bool{}
	for _, c := range s.Topology {
		if slices.Contains(ids, c.Node) {
			found[c.Socket] = true
		}
	}
	return len(found)
}

// cpuHints lists the sets of NUMA nodes with count free CPUs.
func (s *stock) cpuHints(count int) []hint {
	free := s.cpus.Union(s.again)
	if s.Options.FullCores {
		free = s.Topology.whole(free, core)
	}
	byNode, all := s.Topology.split(free, numa), s.Topology.split(s.Topology.All(), numa)
	return s.hints(func(ids []int) (could, can bool) {
		has, free := 0, 0
		for _, id := range ids {
			has, free = has+all[id].Size(), free+byNode[id].Size()
		}
		return has >= count, free >= count
	}, s.Options.AlignSocket)
}

// memoryHints lists the sets of NUMA nodes with enough free memory.
func (s *stock) memoryHints(wants Amounts) []hint {
	return s.hints(func(ids []int) (could, can bool) {
		return s.Memory.room(ids, wants), s.free().room(ids, wants) && s.groups.open(ids)
	}, false)
}

// hints asks of every set of NUMA nodes whether it could have a resource if all of it were free,
// and whether it has it now.
func (s *stock) hints(ask func(ids []int) (could, can bool), bySocket bool) []hint {
	var list []hint
	least, leastSockets := 0, 0
	for m := range masks(len(s.ids)) {
		could, can := ask(s.nodes(m))
		if could && least == 0 {
			least, leastSockets = m.size(), s.sockets(m)
		}
		if can {
			list = append(list, hint{m, m.size() == least || bySocket && s.sockets(m) == leastSockets})
		}
	}
	return list
}
