package agent

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"nodal/node"
)

func TestSubnetsOfAClusterReachTheMachinesRuntime(t *testing.T) {
	var told []string
	tell := func(_ context.Context, cidrs []string) error {
		told = cidrs
		return nil
	}
	use := usePodCIDRs(tell, nil, func(e node.Event) { t.Errorf("got the event %+v", e) })
	if err := use(t.Context(), []string{"10.244.1.0/24"}); err != nil || !slices.Equal(told, []string{"10.244.1.0/24"}) {
		t.Errorf("the runtime was told %q, %v", told, err)
	}
}

func TestSubnetsThatTheBuiltInNetworkDoesNotUseAreNamed(t *testing.T) {
	own := []netip.Prefix{netip.MustParsePrefix("10.94.90.0/24"), netip.MustParsePrefix("fd12::/64")}
	for cidrs, want := range map[string]bool{
		"10.94.90.0/24": false, "10.94.90.0/24,fd12::/64": false, "10.244.1.0/24": true, "10.94.90.0/24,fd00:244:1::/64": true,
	} {
		var events []node.Event
		use := usePodCIDRs(nil, own, func(e node.Event) { events = append(events, e) })
		if err := use(t.Context(), strings.Split(cidrs, ",")); err != nil {
			t.Fatal(err)
		}
		if got := len(events) == 1 && events[0].Warning && strings.Contains(events[0].Message, cidrs); got != want || len(events) > 1 {
			t.Errorf("of %s: got the events %+v, want one: %v", cidrs, events, want)
		}
	}
}
