package assign

import (
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/store"
)

// Pool is the CPUs that are shared by all containers that have none of their own.
type Pool struct {
	rules *Rules
	own   map[node.Key]cpuset.CPUSet
	told  bool // which CPUs these are
}

// NewPool is the pool of a node of which no pod is known yet.
func NewPool(rules *Rules) *Pool { return &Pool{rules: rules, own: map[node.Key]cpuset.CPUSet{}} }

// Take notes what the pods in slots hold that have changed, and says whether the pool
// is another than before. A node whose owner no longer wants CPUs handed out keeps
// what it has promised.
func (p *Pool) Take(changed []store.View) bool {
	news := p.rules.Static && !p.told
	for _, v := range changed {
		holds := cpuset.New()
		if !v.Gone {
			for _, shares := range v.Slot.Shares() {
				holds = holds.Union(exclusive(shares))
			}
		}
		if old := p.own[v.Key]; holds.Size() == old.Size() && holds.IsSubsetOf(old) {
			continue
		}
		news, p.own[v.Key] = true, holds
		if holds.IsEmpty() {
			delete(p.own, v.Key)
		}
	}
	p.told = p.told || news
	return news
}

// CPUs are those in the pool, as the kernel lists them. It is never empty: what is
// reserved is nobody's own.
func (p *Pool) CPUs() string {
	shared := p.rules.Topology.All()
	if p.rules.Static && p.rules.Options.KeepReserved {
		shared = shared.Difference(p.rules.Reserved)
	}
	for _, own := range p.own {
		shared = shared.Difference(own)
	}
	if shared.IsEmpty() {
		shared = p.rules.Reserved
	}
	return shared.String()
}
