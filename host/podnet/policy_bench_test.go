package podnet

import (
	"fmt"
	"net"
	"os"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/host/podnet/nft"
	"nodal/host/podnet/policy"
	"nodal/node"
)

// full is a node with 110 pods of ten kinds, and a hundred policies that let each kind in from others.
func full() (ends map[string]end, h held) {
	ends = map[string]end{}
	for i := range 110 {
		e := end{
			pod: node.Key{Namespace: "default", Name: fmt.Sprint(i)}, link: fmt.Sprint("veth", i), index: 1000 + i,
			card:      net.HardwareAddr{2, 0, 0, 0, 0, byte(i)},
			addresses: addresses(fmt.Sprint("10.95.255.", i+2), fmt.Sprintf("fd01:2::%x", i+2)),
		}
		ends[e.link] = e
		h.pods = append(h.pods, policy.Pod{Key: e.pod, Addresses: e.addresses, Labels: map[string]string{"kind": fmt.Sprint(i % 10)}})
	}
	kind := func(i int) metav1.LabelSelector {
		return metav1.LabelSelector{MatchLabels: map[string]string{"kind": fmt.Sprint(i % 10)}}
	}
	for i := range 100 {
		h.policies = append(h.policies, &networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(i)},
			Spec: networkingv1.NetworkPolicySpec{
				PodSelector: kind(i), PolicyTypes: []networkingv1.PolicyType{"Ingress", "Egress"},
				Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: new(kind(i / 10))}}}},
				Egress: []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{
					{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: []string{fmt.Sprintf("10.%d.0.0/16", i)}}},
				}}},
			},
		})
	}
	return ends, h
}

func BenchmarkPoliciesOfAFullNode(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("needs root to make a network")
	}
	n := New(Config{Places: Places{ID: "586662b34db3"}})
	n.use(prefixes("10.95.255.0/24", "fd01:2::/64"))
	ends, h := full()
	n.connected.ends = ends
	card := net.HardwareAddr{2, 0, 0, 0, 0, 255}
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			n.tables(card, h)
		}
	})
	b.Run("compile and apply", func(b *testing.B) {
		if err := inOwnNetwork(func() error {
			for b.Loop() {
				if err := nft.Replace(n.tables(card, h)...); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Error(err)
		}
	})
	b.Run("guard alone", func(b *testing.B) {
		if err := inOwnNetwork(func() error {
			for b.Loop() {
				if err := nft.Replace(n.tables(card, held{})...); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Error(err)
		}
	})
}
