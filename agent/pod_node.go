package agent

import (
	"nodal/agent/config"
	"nodal/host/cri/spec"
	"nodal/node/offer"
)

// fixedNode returns the part of the node that stays the same for all pods. seccomp is the directory of profiles.
func fixedNode(p config.Pods, seccomp string, m spec.Machine) spec.Node {
	return spec.Node{
		SeccompDefault: p.SeccompDefault, SeccompDir: seccomp, Sysctls: p.Sysctls,
		DNS: spec.DNS{Servers: p.DNS.Servers, Domain: p.DNS.Domain}, Machine: m,
	}
}

// podNode returns the node as pods are translated for it now: the fixed part with the present offer.
func podNode(fixed spec.Node, o offer.Offer, swapLimits bool) spec.Node {
	m := &fixed.Machine
	m.Memory, m.Allocatable = o.Capacity.Memory().Value(), o.Allocatable
	m.Swap, m.SwapLimits = o.Swap, swapLimits
	return fixed
}
