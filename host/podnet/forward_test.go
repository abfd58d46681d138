package podnet

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"nodal/host/thread"
)

func TestFirewallThatDropsForwardedPacketsIsNoticed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a network")
	}
	drop, accept := nftables.ChainPolicyDrop, nftables.ChainPolicyAccept
	for _, c := range []struct {
		name   string
		policy nftables.ChainPolicy
		rule   string // the interface that it names
		want   string
	}{
		{"a chain that accepts", accept, "", ""},
		{"a chain that drops", drop, "", "chain FORWARD of nftables table filter drops"},
		{"a chain that drops and knows another bridge", drop, "docker0", "drops"},
		{"a chain that drops and knows our bridge", drop, "nd-012345", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := inOwnNetwork(func() error {
				return errors.Join(addForwardChain(c.policy, c.rule), forwarding("nd-012345"))
			})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// inOwnNetwork runs a function where nothing of the machine's network is.
func inOwnNetwork(do func() error) error {
	return thread.Own(func() error {
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = do()
		}
		return err
	})
}

func addForwardChain(policy nftables.ChainPolicy, device string) error {
	conn, err := nftables.New()
	if err != nil {
		return err
	}
	table := conn.AddTable(&nftables.Table{Name: "filter", Family: nftables.TableFamilyIPv4})
	chain := conn.AddChain(&nftables.Chain{
		Name: "FORWARD", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter, Policy: &policy,
	})
	if device != "" {
		conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
			&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: 1},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: append([]byte(device), 0)},
			&expr.Verdict{Kind: expr.VerdictAccept},
		}})
	}
	return conn.Flush()
}
