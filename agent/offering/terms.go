package offering

import (
	"errors"

	"k8s.io/utils/cpuset"

	"nodal/node/admit"
	"nodal/node/assign"
	"nodal/node/offer"
)

// Facts hold the part of the machine that offers are made of. It may change while the agent runs.
type Facts struct {
	admit.Machine
	Online cpuset.CPUSet // the CPUs that are there
}

// Terms hold the settings that offers are made by, from the agent's start to its end.
type Terms struct {
	Node     admit.Node // without resources
	Pods     int        // that the node may have
	Reserved admit.Reserved
	Assign   *assign.Rules // for the machine as it was at the start; nil if CPUs are not handed out
	// Topology reads how the CPUs that are online lie together.
	Topology func() (assign.Topology, error)
}

// Offer returns what the node offers to pods. An offer that comes with an error is the least that can be: it has
// nothing of a resource that is reserved in vain, and CPUs are handed out as if none had changed.
func (t Terms) Offer(f Facts) (offer.Offer, error) {
	o := offer.Offer{Node: t.Node, Assign: t.Assign}
	o.Swap.Total = f.Swap
	o.Capacity = f.Capacity(t.Pods)
	var errs [3]error
	o.Allocatable, errs[0] = t.Reserved.Allocatable(f.Machine, o.Capacity)
	o.Whole, errs[1] = t.Reserved.Whole(f.Machine, o.Capacity)
	if t.Assign != nil && len(t.Assign.Topology) > 0 && !t.Assign.Topology.All().Equals(f.Online) {
		o.Assign, errs[2] = t.rules()
	}
	return o, errors.Join(errs[:]...)
}

// rules returns those of the start, for the CPUs that are online now.
func (t Terms) rules() (*assign.Rules, error) {
	machine, err := t.Topology()
	if err != nil {
		return t.Assign, err
	}
	rules := *t.Assign
	rules.Topology = machine
	return &rules, nil
}
