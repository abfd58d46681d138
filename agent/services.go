package agent

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/agent/config"
	"nodal/agent/ownruntime"
	"nodal/host/cri/spec"
	"nodal/host/podnet"
	"nodal/node"
	"nodal/node/intake"
	"nodal/node/store"
)

// services says how the node serves Services: by the network of its own runtime, and if no cluster does.
func services(c config.Runtime, f facts, own *ownruntime.Runtime) intake.Services {
	network := own.Services()
	switch {
	case f.cluster != nil:
		return without("the node belongs to a cluster, which has services; post it there")
	case network == nil:
		return without("with --container-runtime-endpoint, pods are on the network of that runtime's CNI plugins, where the node leads " +
			"nothing to them; leave that flag out")
	case c.NoServices:
		return without("--service-cidr is none; leave that flag out")
	case !slices.ContainsFunc(network.Subnets(), func(s netip.Prefix) bool { return s.Addr().Is4() }):
		return without("services have addresses of IPv4, and pods have none; give them some with --pod-cidr")
	}
	return intake.Services{Without: network.NoServices, Subnet: network.ServiceSubnet, Busy: podnet.Busy}
}

func without(why string) intake.Services {
	return intake.Services{Without: func() string { return why }}
}

// withServices adds to the node what pods learn of its services, if it serves them.
func withServices(n spec.Node, served intake.Services, s *store.Store) spec.Node {
	if served.Without() != "" {
		return n
	}
	n.Services = func(namespace string) (all []*corev1.Service) {
		objects, _ := s.Objects(node.Service)
		for _, o := range objects {
			if o.Meta().Namespace == namespace {
				all = append(all, node.As[*corev1.Service](o))
			}
		}
		return all
	}
	return n
}
