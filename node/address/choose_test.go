package address

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// The machine of most cases: the bridge of pods was made before the card was moved in from outside.
var (
	lo     = Found{IP: at("127.0.0.1"), Interface: "lo", Loopback: true}
	lo6    = Found{IP: at("::1"), Interface: "lo", Loopback: true}
	cni    = Found{IP: at("10.244.0.1"), Interface: "cni0", Bridge: true}
	cni6   = Found{IP: at("fd00:244::1"), Interface: "cni0", Bridge: true}
	first  = Found{IP: at("192.0.2.1"), Interface: "eth0"}
	linked = Found{IP: at("fe80::1"), Interface: "eth1", Routes: true}
	routed = Found{IP: at("10.211.0.2"), Interface: "eth1", Routes: true}
	second = Found{IP: at("10.211.0.3"), Interface: "eth1", Routes: true}
	route6 = Found{IP: at("fd00:211::2"), Interface: "eth1", Routes: true}
	plain6 = Found{IP: at("fd00:1::1"), Interface: "eth0"}
	bridge = Found{IP: at("198.51.100.7"), Interface: "br0", Bridge: true, Routes: true}
	onLo   = Found{IP: at("203.0.113.9"), Interface: "lo", Loopback: true}
)

func at(ip string) netip.Addr { return netip.MustParseAddr(ip) }

func ips(list string) (all []netip.Addr) {
	for _, ip := range strings.Fields(list) {
		all = append(all, at(ip))
	}
	return all
}

func TestAddressesOfTheNode(t *testing.T) {
	machine := []Found{lo, lo6, cni, cni6, first, plain6, linked, routed, second, route6}
	for _, c := range []struct {
		name              string
		configured        string
		found             []Found
		kept, named, want string
	}{
		{"the default route's interface", "", machine, "", "", "10.211.0.2 fd00:211::2"},
		{"the name's", "", machine, "", "192.0.2.1", "192.0.2.1 fd00:1::1"},
		{"the name's, if the machine has it", "", machine, "", "203.0.113.1", "10.211.0.2 fd00:211::2"},
		{"the name's, if it is not loopback", "", machine, "", "127.0.0.1 ::1", "10.211.0.2 fd00:211::2"},
		{"the name's second one, if the first is another machine's", "", machine, "", "203.0.113.1 10.211.0.3", "10.211.0.3 fd00:211::2"},
		{"the name's IPv4 address before its IPv6 one", "", machine, "", "fd00:1::1 192.0.2.1", "192.0.2.1 fd00:1::1"},
		{"the last start's", "", machine, "10.211.0.3", "192.0.2.1", "10.211.0.3 fd00:211::2"},
		{"both of the last start", "", machine, "192.0.2.1 fd00:211::2", "", "192.0.2.1 fd00:211::2"},
		{"not the last start's, if it is gone", "", machine, "10.211.0.99", "", "10.211.0.2 fd00:211::2"},
		{"not the last start's, if it was the bridge of pods", "", machine, "10.244.0.1", "", "10.211.0.2 fd00:211::2"},
		{"never the bridge of pods", "", []Found{lo, cni, first}, "", "", "192.0.2.1"},
		{"nothing but the bridge of pods", "", []Found{lo, cni}, "", "", "127.0.0.1"},
		{"a bridge with the default route", "", []Found{lo, cni, bridge}, "", "", "198.51.100.7"},
		{"a bridge with the default route, again", "", []Found{lo, cni, first, bridge}, "198.51.100.7", "192.0.2.1", "198.51.100.7"},
		{"a card without an address of its own", "", []Found{lo, onLo, cni, linked}, "", "", "203.0.113.9"},
		{"no default route", "", []Found{lo, lo6, first, plain6}, "", "", "192.0.2.1 fd00:1::1"},
		{"IPv6 alone", "", []Found{lo, lo6, cni, linked, route6}, "", "", "fd00:211::2"},
		{"no network", "", []Found{lo, lo6}, "", "", "127.0.0.1"},
		{"one that is configured", "203.0.113.5", machine, "192.0.2.1", "192.0.2.1", "203.0.113.5"},
		{"two that are configured", "fd00:1::1 192.0.2.1", machine, "", "", "fd00:1::1 192.0.2.1"},
		{"any of IPv4", "0.0.0.0", machine, "", "fd00:1::1", "10.211.0.2"},
		{"any of IPv6", "::", machine, "", "192.0.2.1", "fd00:211::2"},
		{"any of IPv6, which the name has", "::", machine, "", "192.0.2.1 fd00:1::1", "fd00:1::1"},
		{"any of IPv6, as at the last start", "::", machine, "192.0.2.1 fd00:1::1", "", "fd00:1::1"},
		{"any of IPv6 on a machine without", "::", []Found{lo, first}, "", "", "192.0.2.1"},
		{"any of IPv6 on a machine without a network", "::", []Found{lo, lo6}, "", "", "::1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Facts{Found: c.found, Kept: ips(c.kept), Named: ips(c.named)}
			if got, want := Choose(ips(c.configured), f), ips(c.want); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestTheNameIsResolvedOnlyIfItDecides(t *testing.T) {
	for _, c := range []struct {
		name, configured, kept string
		want                   bool
	}{
		{"nothing else is known", "", "", true},
		{"a family is wanted", "::", "", true},
		{"the last start's address is there", "", "192.0.2.1", false},
		{"the last start's address is gone", "", "192.0.2.9", true},
		{"the last start's address is of the other family", "::", "192.0.2.1", true},
		{"an address is configured", "203.0.113.5", "", false},
	} {
		f := Facts{Found: []Found{lo, first, plain6}, Kept: ips(c.kept)}
		if got := NeedsName(ips(c.configured), f); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
