package assign

import (
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/store"
)

// Pool holds the CPUs that are shared by all containers without exclusive ones.
type Pool struct {
	rules *Rules
	own   map[node.Key]cpuset.CPUSet
	told  bool // which CPUs these are
}

// NewPool returns the pool of a node without pods.
func NewPool(rules *Rules) *Pool { return &Pool{rules: rules, own: map[node.Key]cpuset.CPUSet{}} }

// Take notes the shares of changed pods, and reports whether the pool has changed. Where
// exclusive CPUs are no longer handed out, earlier promises are kept.
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

// CPUs lists the pool as the kernel does. It is never empty: reserved CPUs are exclusive to
// no container.
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
