package podnet

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/nftables"
)

func TestRulesThatLeadToNobodyGo(t *testing.T) {
	const net = "nd-586662"
	addr := netip.MustParseAddr
	rule := func(sandbox, network, pod string, port uint16) portRule {
		r := portRule{sandbox: sandbox, network: network, port: hostPort{protocol: "tcp", number: port}}
		r.pod, _ = netip.ParseAddr(pod)
		return r
	}
	live := rule("live", "", "10.90.1.5", 80)
	other := live
	other.port.protocol = "udp"
	six := live
	six.place.family = nftables.TableFamilyIPv6
	hosted := func(r portRule, host string) portRule {
		r.port.address = addr(host)
		return r
	}
	stale := rule("old", "", "10.90.1.4", 80)
	view := portView{
		network: net, subnets: prefixes("10.90.1.0/24"),
		holders: map[netip.Addr]string{
			addr("10.90.1.5"): "live", addr("10.90.1.6"): "stuck", addr("10.90.1.7"): "lost", addr("10.90.1.8"): "made",
		},
		ready: map[string]bool{"live": true, "stuck": false}, gone: map[string]bool{"lost": true},
	}
	for _, c := range []struct {
		name            string
		rules           []portRule
		removed         []int // by their place in the list
		mended, foreign int
	}{
		{"of a running pod alone", []portRule{live}, nil, 0, 0},
		{"before that of a running pod", []portRule{stale, live}, []int{0}, 1, 0},
		{"behind that of a running pod", []portRule{live, stale}, []int{1}, 0, 0},
		{"of another protocol", []portRule{stale, other}, []int{0}, 0, 0},
		{"of another family", []portRule{stale, six}, []int{0}, 0, 0},
		{"for one address of the host", []portRule{hosted(stale, "192.0.2.1"), live}, []int{0}, 0, 0},
		{"for the same address of the host", []portRule{hosted(stale, "192.0.2.1"), hosted(live, "192.0.2.1")}, []int{0}, 1, 0},
		{"to an address that another pod has now", []portRule{rule("old", "", "10.90.1.5", 81), live}, []int{0}, 0, 0},
		{"of a sandbox that is being made", []portRule{rule("made", "", "10.90.1.8", 81)}, nil, 0, 0},
		{"of a sandbox that the runtime lost", []portRule{rule("lost", "", "10.90.1.7", 81)}, []int{0}, 0, 0},
		{"of a sandbox that has stopped, and is in nobody's way", []portRule{rule("stuck", "", "10.90.1.6", 81), live}, nil, 0, 0},
		{"of a sandbox that has stopped, and is in the way", []portRule{rule("stuck", "", "10.90.1.6", 80), live}, []int{0}, 1, 0},
		{"that masquerades", []portRule{rule("old", "", "10.90.1.4", 0), live}, []int{0}, 0, 0},
		{"of another network by its address", []portRule{rule("old", "", "10.88.0.4", 80), live}, nil, 0, 1},
		{"of another network by its name", []portRule{rule("old", "podman", "10.90.1.4", 80), live}, nil, 0, 1},
		{"of our network with an earlier subnet", []portRule{rule("old", net, "10.91.0.4", 81)}, []int{0}, 0, 0},
		{"of our network that leads nowhere", []portRule{rule("old", net, "", 0), rule("live", net, "", 0)}, []int{0}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.rules {
				c.rules[i].place.handle = uint64(i)
			}
			remove, mended, foreign := view.judge(c.rules)
			var removed []int
			for _, r := range remove {
				removed = append(removed, int(r.place.handle))
			}
			if !slices.Equal(removed, c.removed) || len(mended) != c.mended || len(foreign) != c.foreign {
				t.Errorf("got %v removed, %d mended, %d foreign; want %v, %d, %d",
					removed, len(mended), len(foreign), c.removed, c.mended, c.foreign)
			}
		})
	}
}

func TestSandboxThatIsUnknownAtTwoLooksIsGone(t *testing.T) {
	var ports openPorts
	v := portView{network: "net", ready: map[string]bool{"known": false}}
	rules := []portRule{{sandbox: "known", network: "net"}, {sandbox: "new", network: "net"}, {sandbox: "theirs", network: "podman"}}
	for look, want := range []bool{false, true, true} {
		gone := ports.gone(v.ready)
		if gone["new"] != want || gone["known"] || gone["theirs"] {
			t.Errorf("look %d: got %v, want the new one: %t", look, gone, want)
		}
		ports.miss(v, rules)
	}
	ports.miss(portView{network: "net"}, rules) // the runtime did not answer
	if gone := ports.gone(v.ready); len(gone) > 0 {
		t.Errorf("got %v after a look without the runtime, want none", gone)
	}
}

func TestChainsOfIptablesAreReadAndRemoved(t *testing.T) {
	const rules = `-P PREROUTING ACCEPT
-N CNI-DN-0001
-N CNI-DN-0002
-N CNI-DN-0003
-N CNI-DN-0004
-N CNI-HOSTPORT-DNAT
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A CNI-DN-0001 -s 10.90.1.0/24 -p tcp -m tcp --dport 8080 -j CNI-HOSTPORT-SETMARK
-A CNI-DN-0001 -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.90.1.4:80
-A CNI-DN-0001 -d 192.0.2.1/32 -p udp -m udp --dport 53 -j DNAT --to-destination 10.90.1.4:5353
-A CNI-DN-0002 -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.90.1.5:80
-A CNI-DN-0003 -p tcp -m tcp --dport 8081 -j DNAT --to-destination 10.90.1.6:80
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"nd-586662\" id: \"two\"" -m multiport --dports 8080 -j CNI-DN-0002
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"nd-586662\" id: \"one\"" -m multiport --dports 8080 -j CNI-DN-0001
-A CNI-HOSTPORT-DNAT -p udp -m comment --comment "dnat name: \"nd-586662\" id: \"one\"" -m multiport --dports 53 -j CNI-DN-0001
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"nd-586662\" id: \"four\"" -m multiport --dports 82 -j CNI-DN-0004
`
	at := func(chain string) place { return place{family: nftables.TableFamilyIPv4, chain: chain} }
	addr := netip.MustParseAddr
	want := []portRule{
		{"two", "nd-586662", addr("10.90.1.5"), hostPort{protocol: "tcp", number: 8080}, at("CNI-DN-0002")},
		{"one", "nd-586662", addr("10.90.1.4"), hostPort{protocol: "tcp", number: 8080}, at("CNI-DN-0001")},
		{"one", "nd-586662", addr("10.90.1.4"), hostPort{"udp", addr("192.0.2.1"), 53}, at("CNI-DN-0001")},
		{"four", "nd-586662", netip.Addr{}, hostPort{}, at("CNI-DN-0004")},
		{"", "", addr("10.90.1.6"), hostPort{protocol: "tcp", number: 8081}, at("CNI-DN-0003")},
	}
	if got := readPortChains(nftables.TableFamilyIPv4, rules); !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	const change = `*nat
-D CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"nd-586662\" id: \"one\"" -m multiport --dports 8080 -j CNI-DN-0001
-D CNI-HOSTPORT-DNAT -p udp -m comment --comment "dnat name: \"nd-586662\" id: \"one\"" -m multiport --dports 53 -j CNI-DN-0001
-F CNI-DN-0001
-X CNI-DN-0001
COMMIT
`
	if got := podChains(rules, map[string]bool{"CNI-DN-0001": true}); got != change {
		t.Errorf("got %s\nwant %s", got, change)
	}
	if got := podChains(rules, map[string]bool{"CNI-DN-0009": true}); got != "" {
		t.Errorf("got %s for a chain that is gone, want nothing", got)
	}
}
