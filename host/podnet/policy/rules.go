package policy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodal/host/podnet/nft"
	"nodal/node"
)

// rules returns the rules of a policy for one direction: each accepts something.
func (w *writer) rules(d direction, policy chooser, pods []Pod) (all []nft.Rule) {
	if d.kind == networkingv1.PolicyTypeEgress {
		for _, r := range policy.Spec.Egress {
			all = append(all, w.rule(d, policy.Namespace, r.To, r.Ports, pods, pods)...)
		}
		return all
	}
	selected := slices.DeleteFunc(slices.Clone(pods), func(p Pod) bool { return !policy.selects(p) })
	for _, r := range policy.Spec.Ingress {
		all = append(all, w.rule(d, policy.Namespace, r.From, r.Ports, pods, selected)...)
	}
	return all
}

// rule writes one rule of a policy. targets are the pods whose names of ports count.
func (w *writer) rule(d direction, namespace string, peers []networkingv1.NetworkPolicyPeer,
	ports []networkingv1.NetworkPolicyPort, pods, targets []Pod,
) (all []nft.Rule) {
	for six := range d.peer {
		var from []nft.Match
		if len(peers) > 0 {
			set := w.addresses(d.peer[six], peersOf(namespace, peers, pods, six == 1))
			if set == "" {
				continue // it names nothing of the family
			}
			from = []nft.Match{nft.In(set, d.peer[six])}
		} else if len(ports) == 0 || !slices.ContainsFunc(ports, named) {
			if six == 1 {
				continue // the rule for the first family holds for both
			}
		}
		for _, to := range w.ports(six, ports, targets) {
			all = append(all, nft.Rule{If: append(slices.Clone(from), to...), Do: nft.Accept()})
		}
	}
	return all
}

// peersOf returns the addresses of one family that peers name.
func peersOf(namespace string, peers []networkingv1.NetworkPolicyPeer, pods []Pod, six bool) (all []span) {
	for _, peer := range peers {
		var spans []span
		if peer.IPBlock != nil {
			spans = block(peer.IPBlock)
		} else {
			for _, p := range peerPods(namespace, peer, pods) {
				for _, a := range p.Addresses {
					spans = append(spans, one(a))
				}
			}
		}
		for _, s := range spans {
			if s.first.Is6() == six {
				all = append(all, s)
			}
		}
	}
	return union(all)
}

// addresses returns the name of a set of addresses; "" if there are none.
func (w *writer) addresses(f nft.Field, spans []span) string {
	if len(spans) == 0 {
		return ""
	}
	set := nft.Set{Fields: []nft.Field{f}}
	for _, s := range spans {
		set.Ranges = set.Ranges || s.first != s.last
		set.Keys = append(set.Keys, nft.Key{Values: [][]byte{s.first.AsSlice()}, Last: s.last.AsSlice()})
	}
	return w.share(set)
}

// share adds a set unless there is one with its content, and returns the name of that.
func (w *writer) share(set nft.Set) string {
	content := fmt.Sprint(set.Fields, set.Keys)
	name, there := w.sets[content]
	if !there {
		name = fmt.Sprintf("set-%d", len(w.sets)+1)
		w.sets[content], set.Name = name, name
		w.table.Sets = append(w.table.Sets, set)
	}
	return name
}

func named(p networkingv1.NetworkPolicyPort) bool {
	return p.Port != nil && p.Port.Type == intstr.String
}

// ports returns the conditions of ports, one of which a packet has to meet. Without ports there is one that holds always.
func (w *writer) ports(six int, ports []networkingv1.NetworkPolicyPort, targets []Pod) (any [][]nft.Match) {
	if len(ports) == 0 {
		return [][]nft.Match{nil}
	}
	for _, p := range ports {
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		over := nft.Is(nft.Transport, []byte{number(protocol)})
		switch {
		case p.Port == nil:
			any = append(any, []nft.Match{over})
		case named(p):
			if set := w.namedPorts(six, p.Port.StrVal, protocol, targets); set != "" {
				any = append(any, []nft.Match{nft.In(set, dest[six], nft.Transport, nft.DestPort)})
			}
		case p.EndPort != nil:
			any = append(any, []nft.Match{over, nft.Between(nft.DestPort, port(p.Port.IntVal), port(*p.EndPort))})
		default:
			any = append(any, []nft.Match{over, nft.Is(nft.DestPort, port(p.Port.IntVal))})
		}
	}
	return any
}

func port(number int32) []byte { return nft.Port(uint16(number)) }

// number is that of a protocol in the header of IP.
func number(p corev1.Protocol) byte {
	switch p {
	case corev1.ProtocolUDP:
		return 17
	case corev1.ProtocolSCTP:
		return 132
	}
	return 6
}

// namedPorts returns the name of a set with the ports of a name, each at the address of a pod that has it.
func (w *writer) namedPorts(six int, name string, protocol corev1.Protocol, pods []Pod) string {
	set := nft.Set{Fields: []nft.Field{dest[six], nft.Transport, nft.DestPort}}
	for _, p := range pods {
		for _, have := range p.Ports {
			if have.Name != name || have.Protocol != protocol {
				continue
			}
			for _, a := range p.Addresses {
				if family(a) == six {
					set.Keys = append(set.Keys, nft.Key{Values: [][]byte{a.AsSlice(), {number(protocol)}, port(have.ContainerPort)}})
				}
			}
		}
	}
	if len(set.Keys) == 0 {
		return ""
	}
	return w.share(set)
}

// PortsOf returns the ports of a pod that policies can name: those of containers that run beside each other.
func PortsOf(spec *corev1.PodSpec) (ports []corev1.ContainerPort) {
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; node.IsSidecar(c) {
			ports = append(ports, c.Ports...)
		}
	}
	for _, c := range spec.Containers {
		ports = append(ports, c.Ports...)
	}
	return ports
}
