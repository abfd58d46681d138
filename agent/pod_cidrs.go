package agent

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"nodal/node"
)

// usePodCIDRs returns a function that passes on the subnets that a cluster has given the node. The machine's runtime is
// told. The network of the built-in one keeps the subnets that pods have addresses of, and an event says so.
func usePodCIDRs(
	tell func(ctx context.Context, cidrs []string) error, own []netip.Prefix, event func(node.Event),
) func(ctx context.Context, cidrs []string) error {
	if own == nil {
		return tell
	}
	return func(_ context.Context, cidrs []string) error {
		if uses(own, cidrs) {
			return nil
		}
		event(node.Event{
			Time: time.Now(), Reason: "PodCIDRNotUsed", Warning: true,
			Message: fmt.Sprintf("the cluster has given the node %s, and its pods have addresses of %s; "+
				"end the pods and set podCIDR in the --config file", strings.Join(cidrs, ","), list(own)),
		})
		return nil
	}
}

// uses reports whether all of a cluster's subnets are the network's own.
func uses(own []netip.Prefix, cidrs []string) bool {
	return !slices.ContainsFunc(cidrs, func(cidr string) bool {
		subnet, err := netip.ParsePrefix(cidr)
		return err != nil || !slices.Contains(own, subnet.Masked())
	})
}

func list(subnets []netip.Prefix) string {
	var all []string
	for _, s := range subnets {
		all = append(all, s.String())
	}
	return strings.Join(all, ",")
}
