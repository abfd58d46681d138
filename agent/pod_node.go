package agent

import (
	"nodal/agent/cgroups"
	"nodal/agent/config"
	"nodal/host/cri/spec"
)

// podNode returns the node as pods are translated for it now.
func podNode(cfg *config.Config, f facts) spec.Node {
	p, o := cfg.Pods, f.offers.Read()
	return spec.Node{
		SeccompDefault: p.SeccompDefault, SeccompDir: cfg.Dirs.Seccomp(), Sysctls: p.Sysctls,
		DNS: spec.DNS{Servers: p.DNS.Servers, Domain: p.DNS.Domain},
		Machine: spec.Machine{
			Name: o.Name, IPs: f.addresses, Memory: o.Capacity.Memory().Value(), Allocatable: o.Allocatable,
			OOMGroup: cgroups.OOMGroup(cfg.Cgroups, f.cgroups), HugePageSizes: f.machine.HugePages,
			Throttles: f.machine.Throttles, Swap: o.Swap,
			// Asked anew for each container: before the first one, no cgroup may be there that could tell.
			SwapLimits: f.cgroups.Version == 2 && f.cgroups.LimitsSwap(),
		},
	}
}
