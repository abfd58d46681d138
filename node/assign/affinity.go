package assign

import (
	"cmp"
	"iter"
	"math/bits"
)

// Align names a policy of Kubernetes' topology manager: whether all exclusive resources of a
// container have to lie in the same NUMA nodes.
type Align string

const (
	AlignNone       Align = "none"
	AlignBestEffort Align = "best-effort" // where it can be
	AlignRestricted Align = "restricted"  // or the pod is refused
	AlignSingleNode Align = "single-numa-node"
)

// mask is a set of NUMA nodes: of their places in the machine, not their numbers.
type mask uint64

func (m mask) size() int { return bits.OnesCount64(uint64(m)) }

// masks yields all sets of NUMA nodes but the empty one, the smallest first.
func masks(nodes int) iter.Seq[mask] {
	return func(yield func(mask) bool) {
		for size := 1; size <= nodes; size++ {
			for m := mask(1); m < 1<<nodes; m++ {
				if m.size() == size && !yield(m) {
					return
				}
			}
		}
	}
}

// hint names a set of NUMA nodes that has what is wanted. It is preferred if it spans as
// few nodes as the machine allows at all.
type hint struct {
	nodes     mask
	preferred bool
}

// merge finds the NUMA nodes on which all of several things can be had, as well as can
// be. Each has a list of places; an empty one says that it cannot be had anywhere. Apart
// is how far the NUMA nodes in a set are from each other.
func (a Align) merge(lists [][]hint, all mask, apart func(mask) int) hint {
	for i, list := range lists {
		if a == AlignSingleNode {
			lists[i] = singles(list)
		}
		if len(lists[i]) == 0 {
			lists[i] = []hint{{all, false}}
		}
	}
	wanted := 0
	for _, list := range lists {
		least := all.size()
		for _, h := range list {
			least = min(least, h.nodes.size())
		}
		wanted = max(wanted, least)
	}
	best, found := hint{all, len(lists) == 0}, false
	for h := range together(lists, hint{all, true}) {
		if h.nodes != 0 && (!found || h.better(best, wanted, apart)) {
			best, found = h, true
		}
	}
	return best
}

func singles(list []hint) []hint {
	var kept []hint
	for _, h := range list {
		if h.preferred && h.nodes.size() == 1 {
			kept = append(kept, h)
		}
	}
	return kept
}

// together yields all ways to choose one place of each list.
func together(lists [][]hint, so hint) iter.Seq[hint] {
	return func(yield func(hint) bool) {
		if len(lists) == 0 {
			yield(so)
			return
		}
		for _, h := range lists[0] {
			for merged := range together(lists[1:], hint{so.nodes & h.nodes, so.preferred && h.preferred}) {
				if !yield(merged) {
					return
				}
			}
		}
	}
}

// better reports whether h goes before another hint. A preferred hint goes first, then the one with
// fewer NUMA nodes, then the one whose nodes are closer together. Of two that are not preferred, one
// with fewer than wanted nodes loses to a wider one.
func (h hint) better(than hint, wanted int, apart func(mask) int) bool {
	one, other := h.nodes.size(), than.nodes.size()
	switch {
	case h.preferred != than.preferred:
		return h.preferred
	case one == other:
		return cmp.Or(cmp.Compare(apart(h.nodes), apart(than.nodes)), cmp.Compare(h.nodes, than.nodes)) < 0
	case h.preferred || min(one, other) >= wanted:
		return one < other
	}
	return one > other && other < wanted
}

// admits reports whether a pod may have resources that lie in such a place.
func (a Align) admits(h hint) bool {
	return h.preferred || a != AlignRestricted && a != AlignSingleNode
}
