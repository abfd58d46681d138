package offering

import (
	"errors"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/assign"
	"nodal/node/offer"
)

// Facts hold the machine's resources that an offer is made of. They may change while the agent runs.
type Facts struct {
	admit.Machine
	Online  cpuset.CPUSet  // the CPUs that are there
	Devices assign.Devices // of plugins
}

// capacity returns the resources of the machine and of its plugins.
func (f Facts) capacity(pods int) corev1.ResourceList {
	for name, devices := range f.Devices {
		f.Extended = maps.Clone(f.Extended)
		if f.Extended == nil {
			f.Extended = corev1.ResourceList{}
		}
		f.Extended[name] = *resource.NewQuantity(int64(len(devices)), resource.DecimalSI)
	}
	return f.Capacity(pods)
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
	o.Capacity = f.capacity(t.most(f))
	var errs [3]error
	o.Allocatable, errs[0] = t.Reserved.Allocatable(f.Machine, o.Capacity)
	o.Memory = t.Reserved.Memory(o.Capacity)
	o.AllPods, errs[1] = t.Reserved.AllPods(f.Machine, o.Capacity)
	if t.Assign != nil && len(t.Assign.Topology) > 0 && !t.Assign.Topology.All().Equals(f.Online) {
		o.Assign, errs[2] = t.rules()
	}
	for name, devices := range f.Devices {
		o.Allocatable[name] = *resource.NewQuantity(int64(node.Healthy(devices)), resource.DecimalSI)
	}
	o.Assigned, o.Assign = assigned(f.Devices), withDevices(o.Assign, f.Devices)
	return o, errors.Join(errs[:]...)
}

// assigned returns the resources of devices as a set.
func assigned(devices assign.Devices) map[corev1.ResourceName]bool {
	var names map[corev1.ResourceName]bool
	for name := range devices {
		if names == nil {
			names = map[corev1.ResourceName]bool{}
		}
		names[name] = true
	}
	return names
}

// withDevices returns the rules for a machine with these devices.
func withDevices(rules *assign.Rules, devices assign.Devices) *assign.Rules {
	if len(devices) == 0 {
		return rules
	}
	with := assign.Rules{}
	if rules != nil {
		with = *rules
	}
	with.Devices = devices
	return &with
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
