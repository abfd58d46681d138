package podnet

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

func TestRulesOfNftablesThatLeadToNobodyAreRemoved(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a network")
	}
	n, _ := newFake(t)
	n.use(prefixes("10.95.255.0/24", "fd01:2::/64"))
	addresses, results := filepath.Join(n.places.Addresses, n.places.bridge()), filepath.Join(n.cache, "results")
	if err := errors.Join(
		os.MkdirAll(addresses, 0o700),
		os.WriteFile(filepath.Join(addresses, "10.95.255.5"), []byte("live\r\neth0"), 0o600),
		os.WriteFile(filepath.Join(addresses, "fd01:2::5"), []byte("live\r\neth0"), 0o600),
		os.WriteFile(filepath.Join(results, n.places.bridge()+"-live-eth0"), []byte(`{"containerId":"live","networkName":"`+
			n.places.bridge()+`","cniArgs":[["K8S_POD_NAMESPACE","default"],["K8S_POD_NAME","web"],["K8S_POD_UID","u1"]]}`), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	sandboxes := func(context.Context) (map[string]bool, error) { return map[string]bool{"live": true}, nil }
	if err := inOwnNetwork(func() error {
		err := plantPorts(
			planted{"dead", "10.95.255.4", unix.IPPROTO_TCP, 80}, planted{"theirs", "10.88.0.4", unix.IPPROTO_UDP, 53},
			planted{"dead", "fd01:2::4", unix.IPPROTO_TCP, 80},
			planted{"live", "10.95.255.5", unix.IPPROTO_TCP, 80}, planted{"live", "10.95.255.5", unix.IPPROTO_UDP, 53},
			planted{"live", "fd01:2::5", unix.IPPROTO_TCP, 80},
		)
		wantRules := func(when string, want ...string) {
			t.Helper()
			rules, err := nftFirewall{}.list(t.Context())
			var got []string
			for _, r := range rules {
				got = append(got, r.sandbox+" "+r.port.String()+" "+r.pod.String())
			}
			if err != nil || !equalSets(got, want) {
				t.Errorf("%s: got %q (%v), want %q", when, got, err, want)
			}
		}
		const four, dns, six = "live 80/tcp 10.95.255.5", "live 53/udp 10.95.255.5", "live 80/tcp fd01:2::5"
		const theirs = "theirs 53/udp 10.88.0.4"
		wantRules("planted", "dead 80/tcp 10.95.255.4", "dead 80/tcp fd01:2::4", theirs, four, dns, six)
		var told []string
		for range 2 {
			events, failed := n.clearPorts(t.Context(), sandboxes)
			err = errors.Join(err, failed)
			for _, e := range events {
				told = append(told, e.Reason+" "+e.Key.Name+" "+string(e.UID))
			}
		}
		wantRules("cleared", theirs, four, dns, six)
		// The port of the dead pod is told twice, once for each of its addresses, and that of others once for all.
		if want := []string{Repaired + "  ", Repaired + " web u1", Repaired + " web u1", Lost + " web u1"}; !equalSets(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		removed := n.places.removePortRules(t.Context()) // there is no description of the network, and no bridge
		wantRules("cleaned without knowing the subnets", theirs, four, dns, six)
		conflist, rendered := n.places.renderConflist(n.Subnets(), 1400, byNftables)
		err = errors.Join(err, removed, rendered, os.MkdirAll(filepath.Dir(n.places.Conflist), 0o700),
			os.WriteFile(n.places.Conflist, conflist, 0o600), n.places.removePortRules(t.Context()))
		wantRules("cleaned", theirs)
		return err
	}); err != nil {
		t.Error(err)
	}
}

func equalSets(got, want []string) bool {
	count := map[string]int{}
	for _, s := range got {
		count[s]++
	}
	for _, s := range want {
		count[s]--
	}
	for _, c := range count {
		if c != 0 {
			return false
		}
	}
	return true
}

// planted is a rule of the plugin.
type planted struct {
	sandbox, pod string
	protocol     byte
	port         uint16
}

// plantPorts makes rules as the plugin has the program nft make them.
func plantPorts(rules ...planted) error {
	conn, err := nftables.New()
	if err != nil {
		return err
	}
	for _, p := range rules {
		pod := netip.MustParseAddr(p.pod)
		family, nat := nftables.TableFamilyIPv4, uint32(unix.NFPROTO_IPV4)
		if pod.Is6() {
			family, nat = nftables.TableFamilyIPv6, unix.NFPROTO_IPV6
		}
		table := conn.AddTable(&nftables.Table{Name: portTable, Family: family})
		for _, name := range portChains() { // an unknown chain cannot be listed
			conn.AddChain(&nftables.Chain{Name: name, Table: table})
		}
		conn.AddRule(&nftables.Rule{
			Table: table, Chain: &nftables.Chain{Name: portsChain, Table: table},
			UserData: append([]byte{0, byte(len(p.sandbox) + 1)}, p.sandbox+"\x00"...),
			Exprs: []expr.Any{
				&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
				&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{p.protocol}},
				&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
				&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{byte(p.port >> 8), byte(p.port)}},
				&expr.Immediate{Register: 1, Data: pod.AsSlice()},
				&expr.Immediate{Register: 2, Data: []byte{0, 80}},
				&expr.NAT{Type: expr.NATTypeDestNAT, Family: nat, RegAddrMin: 1, RegProtoMin: 2},
			},
		})
	}
	return conn.Flush()
}
