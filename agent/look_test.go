package agent

import (
	"net/netip"
	"slices"
	"testing"
)

func TestConfiguredAddressesBeatThoseOfTheMachine(t *testing.T) {
	got := addresses([]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")})
	if want := []string{"10.0.0.1", "fd00::1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := addresses(nil); len(got) == 0 {
		t.Error("a node without configured addresses has none")
	}
}
