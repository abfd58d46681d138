package users

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Unit divides the number of ids of a pod, and is that number by default.
const Unit = 1 << 16

// Range is ids of the host, of users and of groups alike.
type Range struct {
	First uint32 `json:"First"`
	Count uint32 `json:"Count"`
}

func (r Range) end() uint64 { return uint64(r.First) + uint64(r.Count) }

// Pool holds the ids from which each pod gets a range of the same size. An empty pool has
// none.
type Pool struct {
	Range
	Each uint32
}

// Rest returns the pool of a machine without an assignment: all ids but the first, which a pod's
// own would look like.
func Rest(each uint32) Pool {
	return Pool{Range{First: each, Count: math.MaxUint32 - each + 1}, each}
}

// Check returns why a pool cannot serve that many pods, or nil.
func (p Pool) Check(pods int) error {
	switch {
	case p.Each == 0 || p.Each%Unit != 0:
		return fmt.Errorf("%d ids a pod are no multiple of %d", p.Each, Unit)
	case p.First < p.Each: // the host's own root and users would be among them
		return fmt.Errorf("ids from %d on: the first %d belong to the host", p.First, p.Each)
	case p.First%p.Each != 0 || p.Count%p.Each != 0:
		return fmt.Errorf("%d ids from %d on: both have to be multiples of the %d that a pod gets", p.Count, p.First, p.Each)
	case int(p.Count/p.Each) < pods:
		return fmt.Errorf("%d ids are not enough for %d pods of %d each", p.Count, pods, p.Each)
	}
	return nil
}

// Free returns the first range that overlaps none of those that are taken, and false if
// there is none.
func (p Pool) Free(taken []Range) (Range, bool) {
	if p.Each == 0 {
		return Range{}, false
	}
	each, next := uint64(p.Each), uint64(p.First)
	byFirst := func(a, b Range) int { return cmp.Compare(a.First, b.First) }
	for _, t := range slices.SortedFunc(slices.Values(taken), byFirst) {
		if uint64(t.First) >= next+each {
			break
		}
		for next < t.end() { // a range of another size may reach further
			next += each
		}
	}
	if next+each > p.end() {
		return Range{}, false
	}
	return Range{uint32(next), p.Each}, true
}
