package offering

import (
	"errors"

	"k8s.io/utils/cpuset"

	"nodal/node/admit"
	"nodal/node/assign"
	"nodal/node/offer"
)

// Facts hold the machine's resources that an offer is made of. They may change while the agent runs.
type Facts struct {
	admit.Machine
	Online cpuset.CPUSet // the CPUs that are there
}

// Terms hold the settings that offers follow.
type Terms struct {
	Node     admit.Node // without resources
	Pods     int        // that the node may have
	PerCPU   int        // pods for each CPU, within Pods; zero means no such limit
	Reserved admit.Reserved
	Assign   *assign.Rules // for the machine as it was at the start; nil if CPUs are not handed out
	// Topology reads how the CPUs that are online lie together.
	Topology func() (assign.Topology, error)
}

// Offer returns what the node offers to pods. An offer beside an error is the least that is safe: it has nothing of a
// resource of which more is reserved than there is, and it assigns CPUs as before.
func (t Terms) Offer(f Facts) (offer.Offer, error) {
	o := offer.Offer{Node: t.Node, Assign: t.Assign}
	o.Swap.Total = f.Swap
	o.Capacity = f.Capacity(t.most(f))
	var errs [3]error
	o.Allocatable, errs[0] = t.Reserved.Allocatable(f.Machine, o.Capacity)
	o.Memory = t.Reserved.Memory(o.Capacity)
	o.AllPods, errs[1] = t.Reserved.AllPods(f.Machine, o.Capacity)
	if t.Assign != nil && len(t.Assign.Topology) > 0 && !t.Assign.Topology.All().Equals(f.Online) {
		o.Assign, errs[2] = t.rules()
	}
	return o, errors.Join(errs[:]...)
}

// rules returns the rules of the start, for the CPUs that are online now.
func (t Terms) rules() (*assign.Rules, error) {
	machine, err := t.Topology()
	if err != nil {
		return t.Assign, err
	}
	rules := *t.Assign
	rules.Topology = machine
	return &rules, nil
}

// most returns how many pods the machine may have as it is now.
func (t Terms) most(f Facts) int {
	if t.PerCPU == 0 {
		return t.Pods
	}
	return min(t.Pods, t.PerCPU*int(f.CPUs))
}
