package assign

import (
	"maps"
	"slices"

	"k8s.io/utils/cpuset"
)

// spread takes n CPUs in equal parts from as few NUMA nodes as have them; the size of a part is a
// multiple of unit. If no equal parts exist, the CPUs are packed.
func (r *Rules) spread(free cpuset.CPUSet, n, unit int) cpuset.CPUSet {
	t, levels := r.Topology, r.levels()
	byNode := t.split(free, numa)
	nodes := slices.Sorted(maps.Keys(byNode))
	for count := 1; count <= len(nodes) && n%unit == 0; count++ {
		for chosen := range choices(nodes, count) {
			parts, ok := evenly(byNode, chosen, n, unit)
			if !ok {
				continue
			}
			taken := cpuset.New()
			for i, node := range chosen {
				taken = taken.Union(t.pack(byNode[node], parts[i], levels))
			}
			return taken
		}
	}
	return t.pack(free, n, levels)
}

// evenly divides n CPUs among NUMA nodes so that no two differ by more than a unit. The rest
// goes to the first nodes that have room.
func evenly(free map[int]cpuset.CPUSet, nodes []int, n, unit int) ([]int, bool) {
	parts := make([]int, len(nodes))
	each := n / unit / len(nodes) * unit
	rest := n - each*len(nodes)
	for i, node := range nodes {
		if free[node].Size() < each || each == 0 {
			return nil, false
		}
		parts[i] = each
		if rest > 0 && free[node].Size() >= each+unit {
			parts[i], rest = each+unit, rest-unit
		}
	}
	return parts, rest == 0
}

// choices yields all ways to choose count of some numbers, in order.
func choices(of []int, count int) func(yield func([]int) bool) {
	var choose func(chosen, rest []int, yield func([]int) bool) bool
	choose = func(chosen, rest []int, yield func([]int) bool) bool {
		if len(chosen) == count {
			return yield(chosen)
		}
		for i := range rest {
			if !choose(append(slices.Clone(chosen), rest[i]), rest[i+1:], yield) {
				return false
			}
		}
		return true
	}
	return func(yield func([]int) bool) { choose(nil, of, yield) }
}
