package agent

import (
	"nodal/agent/cgroups"
	"nodal/agent/config"
	"nodal/host/cri/spec"
)

// podNode returns the node as pods are translated for it now.
func podNode(cfg *config.Config, f facts) spec.Node {
	r, o := cfg.Runtime, f.offers.Read()
	return spec.Node{
		SeccompDefault: r.SeccompDefault, SeccompDir: cfg.Dirs.Seccomp(), Sysctls: cfg.PodSysctls,
		DNS: spec.DNS{Servers: r.ClusterDNS, Domain: r.ClusterDomain},
		Machine: spec.Machine{
			Name: o.Name, IPs: f.addresses, Memory: o.Capacity.Memory().Value(), Allocatable: o.Allocatable,
			OOMGroup: cgroups.OOMGroup(cfg.Cgroups, f.cgroups), HugePageSizes: f.machine.HugePages,
			Throttles: f.machine.Throttles, Swap: o.Swap,
			// Asked anew for each container: before the first one, no cgroup may be there that could tell.
			SwapLimits: f.cgroups.Version == 2 && f.cgroups.LimitsSwap(),
		},
	}
}
