package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"nodal/host/podnet/nft"
	"nodal/node"
)

// Pod is a pod that is connected to the node's own network.
type Pod struct {
	Key       node.Key
	Labels    map[string]string
	Ports     []corev1.ContainerPort
	Addresses []netip.Addr
}

// direction is a kind of traffic, and which side of it the isolated pod is on.
type direction struct {
	kind       networkingv1.PolicyType
	hook       *nft.Hook
	chain      string
	self, peer [2]nft.Field // by family: four, then six
}

var (
	fields4 = []nft.Field{nft.IP4Source, nft.IP4Dest}
	fields6 = []nft.Field{nft.IP6Source, nft.IP6Dest}

	egress = direction{
		networkingv1.PolicyTypeEgress, nft.Passes, "egress",
		[2]nft.Field{nft.IP4Source, nft.IP6Source}, [2]nft.Field{nft.IP4Dest, nft.IP6Dest},
	}
	ingress = direction{
		networkingv1.PolicyTypeIngress, nft.PassesLater, "ingress",
		[2]nft.Field{nft.IP4Dest, nft.IP6Dest}, [2]nft.Field{nft.IP4Source, nft.IP6Source},
	}
)

// dest are the fields of the address that a packet goes to, by family.
var dest = [2]nft.Field{nft.IP4Dest, nft.IP6Dest}

// Table is the table that holds pods to the policies. It judges what the host routes: the host has to route what pods
// send each other over their bridge, too.
func Table(name, bridge string, policies []*networkingv1.NetworkPolicy, pods []Pod) nft.Table {
	w := &writer{table: nft.Table{Family: nft.Inet, Name: name}, sets: map[string]string{}}
	pods = slices.SortedFunc(slices.Values(pods), func(a, b Pod) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	policies = slices.SortedFunc(slices.Values(policies), func(a, b *networkingv1.NetworkPolicy) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	w.selfSets(pods)
	chosen := choosers(policies)
	for _, d := range []direction{egress, ingress} {
		w.direct(d, chosen, pods)
	}
	w.table.Chains = append(w.table.Chains, quiet(bridge))
	return w.table
}

// quiet keeps the host from telling pods that there is a shorter way to each other than over the host.
func quiet(bridge string) nft.Chain {
	const icmp4, redirect4, icmp6, redirect6 = 1, 5, 58, 137
	there := nft.Is(nft.OutName, nft.Name(bridge))
	return nft.Chain{Name: "redirects", Hook: nft.Begins, Rules: []nft.Rule{
		{If: []nft.Match{there, nft.Is(nft.Transport, []byte{icmp4}), nft.Is(nft.ICMP4Type, []byte{redirect4})}, Do: nft.Drop()},
		{If: []nft.Match{there, nft.Is(nft.Transport, []byte{icmp6}), nft.Is(nft.ICMP6Type, []byte{redirect6})}, Do: nft.Drop()},
	}}
}

// writer writes a table.
type writer struct {
	table nft.Table
	sets  map[string]string // names by content: policies with the same peers share sets
}

// selfSets holds the pairs of addresses of a pod: it always reaches itself, by a host port too.
func (w *writer) selfSets(pods []Pod) {
	four := nft.Set{Name: "self4", Fields: fields4}
	six := nft.Set{Name: "self6", Fields: fields6}
	for _, p := range pods {
		for _, a := range p.Addresses {
			set := &four
			if a.Is6() {
				set = &six
			}
			set.Keys = append(set.Keys, nft.Key{Values: [][]byte{a.AsSlice(), a.AsSlice()}})
		}
	}
	w.table.Sets = append(w.table.Sets, four, six)
}

// Flags and values of connection tracking.
const (
	related = 1 << 2
	reply   = 1
)

// direct writes the chains of one direction.
func (w *writer) direct(d direction, policies []chooser, pods []Pod) {
	maps := [2]nft.Set{
		{Name: d.chain + "4", Fields: d.self[:1], Map: true},
		{Name: d.chain + "6", Fields: d.self[1:], Map: true},
	}
	var chains []nft.Chain
	used, combined := map[int]bool{}, map[string]string{}
	for _, p := range pods {
		selecting := isolating(policies, d.kind, p)
		if len(selecting) == 0 {
			continue
		}
		content := fmt.Sprint(selecting)
		chain, there := combined[content]
		if !there {
			chain = fmt.Sprintf("%s-pods-%d", d.chain, len(combined)+1)
			combined[content] = chain
			chains = append(chains, combination(chain, d, selecting))
		}
		for _, at := range selecting {
			used[at] = true
		}
		for _, a := range p.Addresses {
			m := &maps[family(a)]
			m.Keys = append(m.Keys, nft.Key{Values: [][]byte{a.AsSlice()}, Chain: chain})
		}
	}
	w.table.Sets = append(w.table.Sets, maps[0], maps[1])
	for at, policy := range policies {
		if used[at] {
			w.table.Chains = append(w.table.Chains, nft.Chain{Name: policyChain(d, at), Rules: w.rules(d, policy, pods)})
		}
	}
	w.table.Chains = append(w.table.Chains, chains...)
	w.table.Chains = append(w.table.Chains, nft.Chain{Name: d.chain, Hook: d.hook, Rules: []nft.Rule{
		{If: []nft.Match{nft.Is(nft.TrackReply, []byte{reply})}, Do: nft.Accept()},
		{If: []nft.Match{nft.Has(nft.TrackState, related)}, Do: nft.Accept()},
		{If: []nft.Match{nft.In("self4", fields4...)}, Do: nft.Accept()},
		{If: []nft.Match{nft.In("self6", fields6...)}, Do: nft.Accept()},
		{Do: nft.Choose(maps[0].Name, d.self[0])},
		{Do: nft.Choose(maps[1].Name, d.self[1])},
	}})
}

// combination is the chain of pods that some policies select: what none of these accepts is dropped.
func combination(name string, d direction, policies []int) nft.Chain {
	c := nft.Chain{Name: name}
	for _, at := range policies {
		c.Rules = append(c.Rules, nft.Rule{Do: nft.Jump(policyChain(d, at))})
	}
	c.Rules = append(c.Rules, nft.Rule{Do: nft.Drop()})
	return c
}

func policyChain(d direction, at int) string { return fmt.Sprintf("%s-policy-%d", d.chain, at+1) }

// family is 0 for an address of IPv4, and 1 for one of IPv6.
func family(a netip.Addr) int {
	if a.Is6() {
		return 1
	}
	return 0
}
