package podnet

import (
	"net"
	"net/netip"
	"os"
	"testing"
)

// wantGolden compares a text with a golden file.
func wantGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || got != string(want) {
		t.Errorf("%s differs (%v; -update rewrites it): got\n%s", path, err, got)
	}
}

func TestGuardHoldsPodsToTheirAddresses(t *testing.T) {
	ends := []end{
		{link: "veth1", index: 11, card: net.HardwareAddr{2, 0, 0, 0, 0, 1}, addresses: addresses("10.90.1.2", "fd01:2::2")},
		{link: "veth2", index: 12, card: net.HardwareAddr{2, 0, 0, 0, 0, 2}, addresses: addresses("10.90.1.3")},
	}
	bridge := net.HardwareAddr{2, 0, 0, 0, 0, 0xff}
	wantGolden(t, "testdata/guard.nft", guard("nodal-1", bridge, prefixes("10.90.1.0/24", "fd01:2::/64"), ends, false).String())
	wantGolden(t, "testdata/guard-policies.nft",
		guard("nodal-1", bridge, prefixes("10.90.1.0/24", "fd01:2::/64"), ends, true).String())
}

func TestRoutedPacketsOfPods(t *testing.T) {
	wantGolden(t, "testdata/routed.nft",
		routed("nodal-1", "nd-1", prefixes("10.90.1.0/24", "fd01:2::/64"), []uint16{10250, 10255}).String())
}

func addresses(all ...string) (out []netip.Addr) {
	for _, a := range all {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}
