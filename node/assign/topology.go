package assign

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/utils/cpuset"
)

// CPU is a processor by the kernel's number, with its place. Core numbers are unique in the
// machine: no two sockets share one.
type CPU struct{ ID, Core, Socket, Node, Cache int }

// Topology is the CPUs of a machine.
type Topology []CPU

// All returns the numbers of the CPUs.
func (t Topology) All() cpuset.CPUSet {
	ids := make([]int, len(t))
	for i, c := range t {
		ids[i] = c.ID
	}
	return cpuset.New(ids...)
}

// Threads returns the number of CPUs in a core.
func (t Topology) Threads() int {
	most := 1
	for _, core := range t.split(t.All(), core) {
		most = max(most, core.Size())
	}
	return most
}

// level returns the number of the unit (core, socket, node, cache) that a CPU lies in.
type level func(CPU) int

func socket(c CPU) int { return c.Socket }
func numa(c CPU) int   { return c.Node }
func cache(c CPU) int  { return c.Cache }
func core(c CPU) int   { return c.Core }

// split puts CPUs that lie in one unit of a level together.
func (t Topology) split(cpus cpuset.CPUSet, by level) map[int]cpuset.CPUSet {
	lists := map[int][]int{}
	for _, c := range t {
		if cpus.Contains(c.ID) {
			lists[by(c)] = append(lists[by(c)], c.ID)
		}
	}
	units := map[int]cpuset.CPUSet{}
	for unit, ids := range lists {
		units[unit] = cpuset.New(ids...)
	}
	return units
}

// whole keeps the CPUs whose unit is completely contained in cpus.
func (t Topology) whole(cpus cpuset.CPUSet, by level) cpuset.CPUSet {
	all, found := t.split(t.All(), by), cpuset.New()
	for unit, has := range t.split(cpus, by) {
		if has.Size() == all[unit].Size() {
			found = found.Union(has)
		}
	}
	return found
}

// ascending orders units by their number of CPUs, and then by their own number.
func ascending(units map[int]cpuset.CPUSet) []int {
	return slices.SortedFunc(maps.Keys(units), func(a, b int) int {
		return cmp.Or(cmp.Compare(units[a].Size(), units[b].Size()), cmp.Compare(a, b))
	})
}
