package podnet

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"nodal/host/podnet/nft"
)

// arrives is the chain of the guard that each frame comes to first.
const arrives = "arrives"

// forHost marks what a pod sends to the host's card. It is a bit that Kubernetes and the portmap plugin do not use, and
// the kernel takes marks of pods away at the ends of their links.
const forHost = 0x1000

// guard is the table that holds pods to their own addresses. Pods have raw sockets, so the bridge is the first place
// where a frame can be judged. A pod may send from its own card and addresses; it may say in ARP and in neighbor
// advertisements only where those are; and it may not pose as a router.
//
// A pod that the table does not know yet can use no address of the network, and reaches neither a pod nor the host.
// So a pod is connected only once the table knows it, whatever dies before.
//
// Where there are policies, packets that pods send each other are handed to the host, which routes and judges them: the
// kernel tracks no connections on bridges, unless it has modules for that.
func guard(name string, bridge net.HardwareAddr, subnets []netip.Prefix, ends []end, policies bool) nft.Table {
	links := nft.Set{Name: "links", Fields: []nft.Field{nft.InLink}}
	cards := nft.Set{Name: "cards", Fields: []nft.Field{nft.CardDest}}
	own4 := nft.Set{Name: "own4", Fields: []nft.Field{nft.InLink, nft.CardSource, nft.IP4Source}}
	own6 := nft.Set{Name: "own6", Fields: []nft.Field{nft.InLink, nft.CardSource, nft.IP6Source}}
	if len(bridge) == cardSize {
		cards.Keys = append(cards.Keys, nft.Key{Values: [][]byte{bridge}})
	}
	for _, e := range ends {
		index := nft.Index(e.index)
		links.Keys = append(links.Keys, nft.Key{Values: [][]byte{index}})
		cards.Keys = append(cards.Keys, nft.Key{Values: [][]byte{e.card}})
		six := []netip.Addr{netip.IPv6Unspecified(), e.linkLocal()}
		for _, a := range e.addresses {
			if a.Is6() {
				six = append(six, a)
				continue
			}
			own4.Keys = append(own4.Keys, nft.Key{Values: [][]byte{index, e.card, a.AsSlice()}})
		}
		for _, a := range six {
			own6.Keys = append(own6.Keys, nft.Key{Values: [][]byte{index, e.card, a.AsSlice()}})
		}
	}
	t := nft.Table{
		Family: nft.Bridge, Name: name, Sets: []nft.Set{links, cards, own4, own6},
		Chains: []nft.Chain{
			{Name: arrives, Hook: nft.Arrives, Rules: append([]nft.Rule{
				{If: []nft.Match{nft.In("links", nft.InLink)}, Do: nft.Jump("pod")},
				{If: []nft.Match{nft.In("cards", nft.CardDest)}, Do: nft.Drop()},
			}, strangers(subnets)...)},
			{Name: "pod", Rules: podRules()},
		},
	}
	if policies && len(bridge) == cardSize {
		pod := &t.Chains[1]
		pod.Rules = append(pod.Rules, handUp(bridge)...)
		t.Chains = append(t.Chains, nft.Chain{Name: "between", Hook: nft.Passes, Rules: between()})
	}
	accept := nft.Rule{Do: nft.Accept()}
	t.Chains[1].Rules = append(t.Chains[1].Rules, accept)
	return t
}

// handUp hands packets to the host, but for those by which pods find each other, and marks what is for the host.
func handUp(bridge net.HardwareAddr) []nft.Rule {
	rules := []nft.Rule{neighbors()}
	for _, kind := range []uint16{nft.FrameIP4, nft.FrameIP6} {
		rules = append(rules, nft.Rule{
			If: []nft.Match{nft.Is(nft.FrameType, nft.Port(kind)), nft.In("cards", nft.CardDest)}, Do: nft.ToCard(bridge),
		})
	}
	return append(rules, nft.Rule{If: []nft.Match{nft.Is(nft.CardDest, bridge)}, Do: nft.Flag(forHost)})
}

// neighbors accepts messages of neighbor discovery.
func neighbors() nft.Rule {
	return nft.Rule{Do: nft.Accept(), If: []nft.Match{
		nft.Is(nft.Transport, []byte{icmp6}), nft.Between(nft.ICMP6Type, []byte{neighborSolicits}, []byte{neighborAnswers}),
	}}
}

// between drops what pods send each other past the host, but for that by which they find each other. Where br_netfilter
// filters what crosses bridges, it keeps a packet for the host on the bridge if its host port leads to another pod there.
// The host's chains have judged that one.
func between() []nft.Rule {
	pod := nft.In("links", nft.InLink)
	return []nft.Rule{
		{If: []nft.Match{nft.Is(nft.FrameType, nft.Port(nft.FrameARP))}, Do: nft.Accept()},
		neighbors(),
		{If: []nft.Match{nft.Has(nft.Mark, forHost)}, Do: nft.Accept()},
		{If: []nft.Match{pod}, Do: nft.Drop()},
	}
}

// strangers drop what comes from an address of the pods, but not from a pod.
func strangers(subnets []netip.Prefix) (rules []nft.Rule) {
	for _, s := range subnets {
		at, bits := s.Masked().Addr().AsSlice(), s.Bits()
		fields := []nft.Field{nft.IP4Source, nft.ARPSender}
		if s.Addr().Is6() {
			fields = []nft.Field{nft.IP6Source}
		}
		for _, f := range fields {
			rules = append(rules, nft.Rule{If: []nft.Match{nft.Within(f, at, bits)}, Do: nft.Drop()})
		}
	}
	return rules
}

// Numbers of ICMPv6 and of its messages.
const (
	icmp6             = 58
	routerAdvertises  = 134
	neighborSolicits  = 135
	neighborAnswers   = 136
	redirects         = 137
	unspecifiedLength = 16
)

// ethernetIP4 are the kinds and lengths of addresses in a message of ARP.
var ethernetIP4 = []byte{0, 1, 8, 0, 6, 4}

// podRules drop what a pod may not send.
func podRules() []nft.Rule {
	message := func(kind byte, more ...nft.Match) []nft.Match {
		return append([]nft.Match{
			nft.Is(nft.Transport, []byte{icmp6}), nft.Is(nft.ICMP6Type, []byte{kind}),
		}, more...)
	}
	drop := func(m ...nft.Match) nft.Rule { return nft.Rule{If: m, Do: nft.Drop()} }
	return []nft.Rule{
		drop(nft.Not(nft.Is(nft.FrameType, nft.Port(nft.FrameIP4))), nft.Not(nft.Is(nft.FrameType, nft.Port(nft.FrameIP6))),
			nft.Not(nft.Is(nft.FrameType, nft.Port(nft.FrameARP)))),
		drop(nft.Not(nft.In("own4", nft.InLink, nft.CardSource, nft.IP4Source))),
		drop(nft.Not(nft.In("own6", nft.InLink, nft.CardSource, nft.IP6Source))),
		// The unspecified address is for a pod that asks whether its own is taken.
		drop(nft.Is(nft.IP6Source, make([]byte, unspecifiedLength)), nft.Not(nft.Is(nft.Transport, []byte{icmp6}))),
		drop(message(routerAdvertises)...),
		drop(message(redirects)...),
		drop(message(neighborAnswers, nft.Not(nft.In("own6", nft.InLink, nft.CardSource, nft.NeighborTarget)))...),
		drop(nft.Not(nft.Is(nft.ARPKind, ethernetIP4))),
		drop(nft.Not(nft.In("own4", nft.InLink, nft.CardSource, nft.ARPSender))),
		drop(nft.Not(nft.In("own4", nft.InLink, nft.ARPSenderCard, nft.ARPSender))),
	}
}

// sorted returns the ends in an order that does not change.
func sorted(ends map[string]end) []end {
	all := make([]end, 0, len(ends))
	for _, e := range ends {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b end) int { return strings.Compare(a.link, b.link) })
	return all
}
