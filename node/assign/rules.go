package assign

import (
	"errors"
	"fmt"

	"k8s.io/utils/cpuset"
)

// Rules are what the node's owner decides, for the machine that it is. Without Static
// no container gets CPUs of its own.
type Rules struct {
	Topology Topology
	Static   bool
	Reserved cpuset.CPUSet // for all but pods; containers without CPUs of their own may run there too
	Options  Options
}

// Options are refinements of the static policy, by Kubernetes' names.
type Options struct {
	FullCores    bool // full-pcpus-only: a core belongs to one container
	AcrossNUMA   bool // distribute-cpus-across-numa: in equal parts
	KeepReserved bool // strict-cpu-reservation: nobody's pods run on what is reserved
	AlignCaches  bool // prefer-align-cpus-by-uncorecache
}

// Reserve are the CPUs that a node sets aside when it is told only how many.
func (t Topology) Reserve(count int) cpuset.CPUSet {
	return t.pack(t.All(), count, []level{socket, numa, core})
}

// Check says what keeps a machine from obeying the rules.
func (r *Rules) Check() error {
	all := r.Topology.All()
	switch {
	case !r.Static:
		return nil
	case all.IsEmpty():
		return errors.New("cpuManagerPolicy=static: this machine does not tell which CPUs it has")
	case r.Reserved.IsEmpty():
		return errors.New("cpuManagerPolicy=static: set some CPU aside with kubeReserved, systemReserved or reservedSystemCPUs, " +
			"so that there always is one for those who have none of their own")
	case !r.Reserved.IsSubsetOf(all):
		return fmt.Errorf("reservedSystemCPUs: %s are not all among this machine's CPUs, %s", r.Reserved, all)
	case r.Options.KeepReserved && r.Reserved.Equals(all):
		return errors.New("cpuManagerPolicyOptions[strict-cpu-reservation]: all CPUs are reserved, none is left for pods")
	}
	return nil
}
