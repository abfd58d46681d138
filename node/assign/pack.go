package assign

import (
	"k8s.io/utils/cpuset"
)

// levels are the units of a machine, the widest first. What shares a cache is looked
// at only where the owner wants that.
func (r *Rules) levels() []level {
	if r.Options.AlignCaches {
		return []level{socket, numa, cache, core}
	}
	return []level{socket, numa, core}
}

// pack takes n CPUs that lie together: all of them in the fullest unit that has room
// for them, and where none has, as few units as can be.
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
	ids := free.List()
	return taken.Union(cpuset.New(ids[:min(n, len(ids))]...))
}

// fullest is the unit with the least room that has enough of it.
func fullest(units map[int]cpuset.CPUSet, order []int, n int) (cpuset.CPUSet, bool) {
	for _, unit := range order {
		if units[unit].Size() >= n {
			return units[unit], true
		}
	}
	return cpuset.CPUSet{}, false
}
