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
	known bool // Take has reported these CPUs
	moved bool // the machine has other CPUs than those that Take has reported
}

// NewPool returns the pool of a node without pods.
func NewPool(rules *Rules) *Pool { return &Pool{rules: rules, own: map[node.Key]cpuset.CPUSet{}} }

// Follow puts the pool on a machine whose CPUs have changed. The next Take reports whether the pool
// differs by that.
func (p *Pool) Follow(rules *Rules) {
	handedOut := rules.Static || len(p.own) > 0
	p.moved = p.moved || handedOut && !rules.Topology.All().Equals(p.rules.Topology.All())
	p.rules = rules
}

// Take notes the shares of changed pods, and reports whether the pool has changed. Where
// exclusive CPUs are no longer handed out, earlier promises are kept.
func (p *Pool) Take(changed []store.View) bool {
	news := p.moved || p.rules.Static && !p.known
	p.moved = false
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
	p.known = p.known || news
	return news
}

// CPUs lists those in the pool as the kernel does. The pool is never empty. At worst its containers run on what is
// reserved, or beside containers with CPUs of their own if all that is reserved is offline.
func (p *Pool) CPUs() string {
	online := p.rules.Topology.All()
	shared := online
	if p.rules.Static && p.rules.Options.KeepReserved {
		shared = shared.Difference(p.rules.Reserved)
	}
	for _, own := range p.own {
		shared = shared.Difference(own)
	}
	if shared.IsEmpty() {
		shared = p.rules.Reserved.Intersection(online)
	}
	if shared.IsEmpty() {
		shared = online
	}
	return shared.String()
}
