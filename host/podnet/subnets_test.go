package podnet

import (
	"net/netip"
	"os"
	"slices"
	"testing"

	"github.com/google/nftables"

	"nodal/host/podnet/nft"
)

func prefixes(all ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, s := range all {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}

func TestSubnetAvoidsTheRoutesOfTheHost(t *testing.T) {
	free, err := subnet4("node", nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := subnet4("node", nil); again != free {
		t.Errorf("got %v the second time, want %v", again, free)
	}
	if pool := netip.MustParsePrefix("10.88.0.0/13"); !pool.Overlaps(free) || netip.MustParsePrefix("10.88.0.0/16").Overlaps(free) {
		t.Errorf("%v lies outside of our pool", free)
	}
	next, err := subnet4("node", []netip.Prefix{netip.PrefixFrom(free.Addr().Next(), 30)})
	if err != nil || next.Overlaps(free) {
		t.Errorf("got %v (%v), want another one than %v", next, err, free)
	}
	if _, err := subnet4("node", prefixes("10.0.0.0/8")); err == nil {
		t.Error("found a subnet where all are taken")
	}
	last, err := subnet4("node", prefixes("10.89.0.0/16", "10.90.0.0/15", "10.92.0.0/15", "10.94.0.0/16", "10.95.0.0/17", "10.95.128.0/18", "10.95.192.0/19"))
	if err != nil || !netip.MustParsePrefix("10.95.224.0/19").Overlaps(last) {
		t.Errorf("got %v (%v), want one of what is left", last, err)
	}
}

func TestSubnetsOfAnEarlierStartAreKeptWhileTheHostTakesThem(t *testing.T) {
	both := prefixes("10.90.1.0/24", "fd01:2::/64")
	for _, c := range []struct {
		name         string
		wanted, kept []netip.Prefix
		six          bool
		want         []netip.Prefix
	}{
		{"both families", nil, both, true, both},
		{"a host that has lost IPv6", nil, both, false, both[:1]},
		{"others are asked for", prefixes("10.1.0.0/16"), both, true, prefixes("10.1.0.0/16")},
		{"others are asked for, without IPv6", prefixes("10.1.0.0/16"), both, false, prefixes("10.1.0.0/16")},
		{"IPv6 is asked for, of a host without it", prefixes("10.1.0.0/16", "fd01:3::/64"), nil, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := testPlaces(t).chooseSubnets(c.wanted, c.kept, c.six); (err != nil) != (c.want == nil) || !slices.Equal(got, c.want) {
				t.Errorf("got %v (%v), want %v", got, err, c.want)
			}
		})
	}
}

func TestOnlyAnotherSubnetOfAFamilyIsAMove(t *testing.T) {
	both := prefixes("10.90.1.0/24", "fd01:2::/64")
	for _, c := range []struct {
		name     string
		from, to []netip.Prefix
		want     bool
	}{
		{"the first start", nil, both, false},
		{"the same", both, both, false},
		{"a family less", both, both[:1], false},
		{"a family more", both[:1], both, false},
		{"another subnet", both, prefixes("10.90.1.0/25", "fd01:2::/64"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := moved(c.from, c.to); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

func TestRoutesOfTheHostAreRead(t *testing.T) {
	const four = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
		"eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" +
		"eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n" +
		"nd-1\t0001590A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
	if got, want := routes4(four, "nd-1"), prefixes("192.0.2.0/24"); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	const six = "fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0\n" +
		"00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n" +
		"broken\n"
	if got, want := routes6(six, "nd-1"), prefixes("fd00::/64"); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSharedChainsGoWithTheLastPort(t *testing.T) {
	const shared = `-P PREROUTING ACCEPT
-N CNI-HOSTPORT-DNAT
-N CNI-HOSTPORT-MASQ
-N DOCKER
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A PREROUTING -j DOCKER
-A POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ
-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE
`
	const want = `*nat
-D PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-D POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ
-F CNI-HOSTPORT-MASQ
-X CNI-HOSTPORT-DNAT
-X CNI-HOSTPORT-MASQ
COMMIT
`
	if got := sharedChains(shared); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for state, rule := range map[string]string{
		"a port is open":   "-A CNI-HOSTPORT-DNAT -p tcp -j CNI-DN-1\n",
		"a port is opened": "-A CNI-DN-1 -s 10.88.0.2/32 -p tcp -m tcp --dport 80 -j CNI-HOSTPORT-SETMARK\n",
	} {
		if got := sharedChains(shared + rule); got != "" {
			t.Errorf("got %s while %s, want nothing", got, state)
		}
	}
	if got := sharedChains("-P PREROUTING ACCEPT\n-N DOCKER\n"); got != "" {
		t.Errorf("got %s where there are none, want nothing", got)
	}
}

func TestMasqueradeIsOneTableThatComesAndGoes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to change nftables")
	}
	table := routed("nodal-test-masquerade", "nd-test", prefixes("10.95.255.0/24", "fd01:2::/64"), nil)
	t.Cleanup(func() {
		if err := nft.Remove(table); err != nil {
			t.Error(err)
		}
	})
	for range 2 {
		if err := nft.Replace(table); err != nil {
			t.Fatal(err)
		}
		rules, err := nft.Rules(nft.Inet, table.Name, postrouting)
		if err != nil || rules != 4 {
			t.Errorf("got %d rules (%v), want two for each family", rules, err)
		}
	}
	for range 2 {
		if err := nft.Remove(table); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := nftables.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ListTableOfFamily(table.Name, nftables.TableFamilyINet); err == nil {
		t.Error("the table is still there")
	}
}
