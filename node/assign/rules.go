package assign

import (
	"errors"
	"fmt"

	"k8s.io/utils/cpuset"
)

// Rules holds the settings of the node's owner for this machine. Without Static no
// container gets exclusive CPUs.
type Rules struct {
	Topology Topology
	Static   bool
	Reserved cpuset.CPUSet // for all but pods; containers without CPUs of their own may run there too
	Options  Options
	Memory   Memory // what pods may have of chosen NUMA nodes; nil disables the choice
	Kept     Memory // what pods do not get of them
	Devices  Devices
	Align    Align
	// WholePods has all containers of a pod lie together, not each for itself.
	WholePods bool
	MostNodes int // of NUMA nodes for which alignment is tried
	// Distances between NUMA nodes decide which of several sets of the same size it is:
	// prefer-closest-numa-nodes. Without them these are as good as each other.
	Distances Distances
}

// Distances are from each NUMA node to each, by their numbers.
type Distances map[int]map[int]int

// Options are refinements of the static policy, by Kubernetes' names.
type Options struct {
	FullCores    bool // full-pcpus-only: a core belongs to one container
	AcrossNUMA   bool // distribute-cpus-across-numa: in equal parts
	AlignSocket  bool // align-by-socket: NUMA nodes of one socket are as good as one of them
	KeepReserved bool // strict-cpu-reservation: no pod runs on reserved CPUs
	AlignCaches  bool // prefer-align-cpus-by-uncorecache
	AcrossCores  bool // distribute-cpus-across-cores: one of each core, before a second of any
}

// Reserve chooses the CPUs to set aside when only their number is configured.
func (t Topology) Reserve(count int) cpuset.CPUSet {
	return t.pack(t.All(), count, []level{socket, numa, core})
}

func (r *Rules) aligns() bool { return r.Align != "" && r.Align != AlignNone }

// Check returns why a machine cannot obey the rules, or nil.
func (r *Rules) Check() error {
	all, nodes := r.Topology.All(), len(r.Topology.split(r.Topology.All(), numa))
	switch {
	case r.aligns() && nodes > r.MostNodes:
		return fmt.Errorf("topologyManagerPolicy=%s: this machine has %d NUMA nodes, more than the %d of topologyManagerPolicyOptions[max-allowable-numa-nodes]",
			r.Align, nodes, r.MostNodes)
	case !all.IsEmpty() && !r.Reserved.IsSubsetOf(all):
		return fmt.Errorf("reservedSystemCPUs: %s are not all among this machine's CPUs, %s", r.Reserved, all)
	case !r.Static:
		return nil
	case all.IsEmpty():
		return errors.New("cpuManagerPolicy=static: the kernel does not say which CPUs this machine has")
	case r.Reserved.IsEmpty():
		return errors.New("cpuManagerPolicy=static: set some CPU aside with kubeReserved, systemReserved or reservedSystemCPUs, " +
			"so that one is always left for containers without exclusive CPUs")
	case r.Options.KeepReserved && r.Reserved.Equals(all):
		return errors.New("cpuManagerPolicyOptions[strict-cpu-reservation]: all CPUs are reserved, none is left for pods")
	}
	return nil
}
