package assign

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/utils/cpuset"
)

// levels returns the units of a machine, the widest first. Shared caches count only if the owner
// has set that option.
func (r *Rules) levels() []level {
	switch {
	case r.Options.AcrossCores:
		return []level{socket, numa}
	case r.Options.AlignCaches:
		return []level{socket, numa, cache, core}
	}
	return []level{socket, numa, core}
}

// pack takes n CPUs that lie together: all in the fullest unit that has room for them or,
// if none has, in as few units as possible. In the last unit they lie apart.
func (t Topology) pack(free cpuset.CPUSet, n int, levels []level) cpuset.CPUSet {
	taken := cpuset.New()
	for n > 0 && len(levels) > 0 {
		units := t.split(free, levels[0])
		order := ascending(units)
		if fits, ok := fullest(units, order, n); ok {
			return taken.Union(t.pack(fits, n, levels[1:]))
		}
		if len(order) == 0 {
			return taken
		}
		most := units[order[len(order)-1]]
		for _, unit := range order { // the first of those that have the most
			if units[unit].Size() == most.Size() {
				most = units[unit]
				break
			}
		}
		taken, free, n = taken.Union(most), free.Difference(most), n-most.Size()
	}
	return taken.Union(t.apart(free, n))
}

// apart takes n CPUs, one of each core before a second of any, first of those that have
// most of theirs free.
func (t Topology) apart(free cpuset.CPUSet, n int) cpuset.CPUSet {
	cores := t.split(free, core)
	order := slices.SortedFunc(maps.Keys(cores), func(a, b int) int {
		return cmp.Or(cmp.Compare(cores[b].Size(), cores[a].Size()), cmp.Compare(a, b))
	})
	var taken []int
	for round := 0; round < t.Threads(); round++ {
		for _, c := range order {
			if ids := cores[c].List(); round < len(ids) && len(taken) < n {
				taken = append(taken, ids[round])
			}
		}
	}
	return cpuset.New(taken...)
}

// fullest returns the unit with the least room that has enough of it.
func fullest(units map[int]cpuset.CPUSet, order []int, n int) (cpuset.CPUSet, bool) {
	for _, unit := range order {
		if units[unit].Size() >= n {
			return units[unit], true
		}
	}
	return cpuset.CPUSet{}, false
}
