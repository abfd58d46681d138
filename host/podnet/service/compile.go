package service

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Port is a port of a service, and where it leads.
type Port struct {
	At       netip.AddrPort // its address and port
	Protocol byte           // its number above IP
	OnNode   uint16         // the port of the machine that leads there too; 0 for none
	Sticky   bool           // a client stays with its pod
	Backends []netip.AddrPort
}

// Objects holds what ports are made of.
type Objects struct {
	Services []*corev1.Service
	Slices   []*discoveryv1.EndpointSlice
	// Going reports a pod that is being deleted, and whether nothing of it answers any more: its slice may not say so yet.
	Going func(types.UID) (going, away bool)
}

// Compile returns the ports of all services that have an address, in an order that does not change.
func Compile(o Objects) (ports []Port) {
	slicesOf := map[types.NamespacedName][]*discoveryv1.EndpointSlice{}
	for _, s := range o.Slices {
		if s.AddressType == discoveryv1.AddressTypeIPv4 {
			name := types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}
			slicesOf[name] = append(slicesOf[name], s)
		}
	}
	for _, s := range o.Services {
		address, err := netip.ParseAddr(s.Spec.ClusterIP)
		if err != nil || !address.Is4() || s.Spec.Type == corev1.ServiceTypeExternalName {
			continue // headless, or another name
		}
		all := slicesOf[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}]
		for i := range s.Spec.Ports {
			of := &s.Spec.Ports[i]
			ports = append(ports, Port{
				At: netip.AddrPortFrom(address, uint16(of.Port)), Protocol: number(of.Protocol), OnNode: uint16(of.NodePort),
				Sticky: s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP, Backends: o.backends(s, of, all),
			})
		}
	}
	slices.SortFunc(ports, func(a, b Port) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Protocol, b.Protocol)) })
	return ports
}

// backends returns where a port leads: to what is ready, or else to what still answers while it ends.
func (o Objects) backends(s *corev1.Service, of *corev1.ServicePort, all []*discoveryv1.EndpointSlice) []netip.AddrPort {
	var ready, ending []netip.AddrPort
	local := s.Spec.InternalTrafficPolicy != nil && *s.Spec.InternalTrafficPolicy == corev1.ServiceInternalTrafficPolicyLocal
	for _, slice := range all {
		port := portOf(slice, of)
		if port == 0 {
			continue
		}
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			if local && e.NodeName == nil {
				continue
			}
			at, err := netip.ParseAddr(e.Addresses[0])
			if err != nil {
				continue
			}
			c, to := e.Conditions, netip.AddrPortFrom(at, port)
			going, away := false, false
			if e.TargetRef != nil && o.Going != nil {
				going, away = o.Going(e.TargetRef.UID)
			}
			going = going && !s.Spec.PublishNotReadyAddresses
			switch {
			case away:
			case (c.Ready == nil || *c.Ready) && !going:
				ready = append(ready, to)
			case c.Serving == nil || *c.Serving:
				ending = append(ending, to)
			}
		}
	}
	if len(ready) == 0 {
		ready = ending
	}
	slices.SortFunc(ready, netip.AddrPort.Compare)
	return slices.Compact(ready)
}

// portOf returns the port of a slice that has the name and the protocol of a service's.
func portOf(s *discoveryv1.EndpointSlice, of *corev1.ServicePort) uint16 {
	for _, p := range s.Ports {
		name, protocol := "", corev1.ProtocolTCP
		if p.Name != nil {
			name = *p.Name
		}
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		if p.Port != nil && name == of.Name && protocol == of.Protocol {
			return uint16(*p.Port)
		}
	}
	return 0
}

// number is that of a protocol in the header of IP.
func number(p corev1.Protocol) byte {
	switch p {
	case corev1.ProtocolUDP:
		return UDP
	case corev1.ProtocolSCTP:
		return 132
	}
	return 6
}

// UDP is the number of that protocol.
const UDP = 17

// Equal reports whether two ports are the same and lead to the same places.
func (p Port) Equal(o Port) bool {
	return p.At == o.At && p.Protocol == o.Protocol && p.OnNode == o.OnNode && p.Sticky == o.Sticky && slices.Equal(p.Backends, o.Backends)
}

// Link is a way over UDP from a port to a backend. One from a port of the machine has no address: each of the machine's has it.
type Link struct{ At, Backend netip.AddrPort }

// OnNode is the way of a port of the machine.
func (l Link) OnNode() Link {
	l.At = netip.AddrPortFrom(netip.IPv4Unspecified(), l.At.Port())
	return l
}

// links are the ways over UDP of all ports.
func links(ports []Port) map[Link]bool {
	all := map[Link]bool{}
	for _, p := range ports {
		if p.Protocol != UDP {
			continue
		}
		for _, b := range p.Backends {
			all[Link{p.At, b}] = true
			if p.OnNode > 0 {
				all[Link{netip.AddrPortFrom(p.At.Addr(), p.OnNode), b}.OnNode()] = true
			}
		}
	}
	return all
}

// Gone returns the ways over UDP that there were and are not.
func Gone(before, after []Port) map[Link]bool {
	gone, kept := links(before), links(after)
	maps.DeleteFunc(gone, func(l Link, _ bool) bool { return kept[l] })
	return gone
}
