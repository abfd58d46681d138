package podnet

import (
	"bytes"
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// forwarding fails if a chain drops forwarded packets by default and has no rule for the pods' bridge. Docker and
// some firewalls make such a chain. An accept in the node's own table would not help: a packet has to pass all tables.
//
// The kernel does not list chains of legacy iptables here.
func forwarding(bridge string) error {
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("reach nftables: %w", err)
	}
	chains, err := conn.ListChains()
	if err != nil {
		return fmt.Errorf("list nftables chains: %w", err)
	}
	for _, chain := range chains {
		if !dropsForwarded(chain) {
			continue
		}
		rules, err := conn.GetRules(chain.Table, chain)
		if err != nil {
			return fmt.Errorf("list the rules of nftables chain %s: %w", chain.Name, err)
		}
		if !mention(rules, bridge) {
			return fmt.Errorf("chain %s of nftables table %s drops forwarded packets by default: "+
				"pods reach nothing outside of this machine, and nothing reaches them", chain.Name, chain.Table.Name)
		}
	}
	return nil
}

func dropsForwarded(c *nftables.Chain) bool {
	return c.Hooknum != nil && *c.Hooknum == *nftables.ChainHookForward && c.Type == nftables.ChainTypeFilter &&
		c.Policy != nil && *c.Policy == nftables.ChainPolicyDrop
}

// mention reports whether a rule compares something with the bridge's name.
func mention(rules []*nftables.Rule, bridge string) bool {
	for _, rule := range rules {
		for _, e := range rule.Exprs {
			if cmp, ok := e.(*expr.Cmp); ok && bytes.HasPrefix(cmp.Data, []byte(bridge)) {
				return true
			}
		}
	}
	return false
}

// letForward returns the commands that let the pods' packets through a chain that drops forwarded ones.
func letForward(bridge string) string {
	return fmt.Sprintf(
		"let pods through: iptables -I FORWARD -i %[1]s -j ACCEPT; iptables -I FORWARD -o %[1]s -j ACCEPT", bridge)
}
