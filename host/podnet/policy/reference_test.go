package policy

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// packet is the first one of a connection.
type packet struct {
	from, to netip.Addr
	protocol corev1.Protocol
	port     int32
}

// world holds what a packet is judged by.
type world struct {
	policies []*networkingv1.NetworkPolicy
	pods     []Pod
}

func (w world) at(a netip.Addr) *Pod {
	for i := range w.pods {
		if slices.Contains(w.pods[i].Addresses, a) {
			return &w.pods[i]
		}
	}
	return nil
}

// allows says what Kubernetes' documentation says of a packet, as plainly as possible.
func (w world) allows(p packet) bool {
	from, to := w.at(p.from), w.at(p.to)
	if from != nil && from == to {
		return true
	}
	return w.allowsOut(from, to, p) && w.allowsIn(from, to, p)
}

func (w world) allowsOut(from, to *Pod, p packet) bool {
	isolated := false
	for i, policy := range w.policies {
		if from == nil || !slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) || !choosers(w.policies)[i].selects(*from) {
			continue
		}
		isolated = true
		for _, rule := range policy.Spec.Egress {
			if meetsPeers(policy.Namespace, rule.To, to, p.to) && meetsPorts(rule.Ports, to, p) {
				return true
			}
		}
	}
	return !isolated
}

func (w world) allowsIn(from, to *Pod, p packet) bool {
	isolated := false
	for i, policy := range w.policies {
		if to == nil || !slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) || !choosers(w.policies)[i].selects(*to) {
			continue
		}
		isolated = true
		for _, rule := range policy.Spec.Ingress {
			if meetsPeers(policy.Namespace, rule.From, from, p.from) && meetsPorts(rule.Ports, to, p) {
				return true
			}
		}
	}
	return !isolated
}

func meetsPeers(namespace string, peers []networkingv1.NetworkPolicyPeer, pod *Pod, at netip.Addr) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(peer networkingv1.NetworkPolicyPeer) bool {
		if b := peer.IPBlock; b != nil {
			inside := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(at) }
			return inside(b.CIDR) && !slices.ContainsFunc(b.Except, inside)
		}
		return pod != nil && len(peerPods(namespace, peer, []Pod{*pod})) == 1
	})
}

func meetsPorts(ports []networkingv1.NetworkPolicyPort, to *Pod, p packet) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(port networkingv1.NetworkPolicyPort) bool {
		switch {
		case *port.Protocol != p.protocol:
			return false
		case port.Port == nil:
			return true
		case port.Port.Type == intstr.String:
			return to != nil && slices.ContainsFunc(to.Ports, func(have corev1.ContainerPort) bool {
				return have.Name == port.Port.StrVal && have.Protocol == p.protocol && have.ContainerPort == p.port
			})
		case port.EndPort != nil:
			return port.Port.IntVal <= p.port && p.port <= *port.EndPort
		}
		return port.Port.IntVal == p.port
	})
}
