package podnet

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// removeSharedChains removes the chains that the portmap plugin keeps for all runtimes of the machine, unless a port
// is open in them.
func (p Places) removeSharedChains(ctx context.Context) error {
	var errs []error
	for _, name := range []string{"iptables", "ip6tables"} {
		if path := p.program(name); path != "" {
			errs = append(errs, removeIptablesChains(ctx, path))
		}
	}
	return errors.Join(append(errs, removePortmapTables())...)
}

// removeIptablesChains removes the plugin's chains in one transaction, so that a port that is opened at the same time
// keeps them all. A table that cannot be listed, for example without IPv6, has none.
func removeIptablesChains(ctx context.Context, iptables string) (err error) {
	for range 3 {
		if err = restoreNAT(ctx, iptables, sharedChains(listNAT(ctx, iptables))); err == nil {
			return nil
		}
	}
	return err
}

// sharedChains turns listed rules into the input of iptables-restore that removes the plugin's shared chains, or ""
// if they are in use. It does not empty the chain of ports: a port that is opened meanwhile makes the change fail. The
// plugin gives a pod its own chain, which leads to a shared one, before the port leads there.
func sharedChains(rules string) string {
	var jumps, flushes, removals strings.Builder
	for line := range strings.Lines(rules) {
		f := strings.Fields(line)
		switch {
		case len(f) < 2:
		case f[0] == "-A" && f[1] == sharedPorts:
			return ""
		case f[0] == "-A" && strings.HasPrefix(f[1], podPrefix) && strings.HasPrefix(f[len(f)-1], sharedPrefix):
			return ""
		case f[0] == "-N" && strings.HasPrefix(f[1], sharedPrefix):
			if f[1] != sharedPorts {
				fmt.Fprintln(&flushes, "-F", f[1])
			}
			fmt.Fprintln(&removals, "-X", f[1])
		case f[0] == "-A" && !strings.HasPrefix(f[1], "CNI-") && strings.HasPrefix(f[len(f)-1], sharedPrefix):
			jumps.WriteString("-D" + strings.TrimPrefix(line, "-A"))
		}
	}
	if removals.Len() == 0 && jumps.Len() == 0 {
		return ""
	}
	return "*nat\n" + jumps.String() + flushes.String() + removals.String() + "COMMIT\n"
}
