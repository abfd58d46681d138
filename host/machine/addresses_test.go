package machine

import (
	"net/netip"
	"os"
	"slices"
	"testing"

	"nodal/node/address"
)

func TestThisMachineHasAnAddressOfItsLoopbackInterface(t *testing.T) {
	all, err := Addresses(os.DirFS("/"))
	if err != nil {
		t.Fatal(err)
	}
	local := netip.MustParseAddr("127.0.0.1")
	if !slices.ContainsFunc(all, func(a address.Found) bool { return a.IP == local && a.Loopback && !a.Bridge && !a.Routes }) {
		t.Errorf("got %+v, want %s in it", all, local)
	}
	if got := Resolve(t.Context(), "127.0.0.1"); !slices.Equal(got, []netip.Addr{local}) {
		t.Errorf("an address resolves to %v, want itself", got)
	}
}
