package podnet

import (
	"fmt"
	"net/netip"

	"github.com/google/nftables"

	"nodal/host/podnet/nft"
)

// Chains of the routed table.
const (
	postrouting = "postrouting"
	input       = "input"
)

// routed is the table for packets that the host routes for pods, or takes from them. Those that leave the machine get
// its address.
//
// The second rule of a subnet is for a pod that reaches another pod over a host port. Both are on one bridge: without
// it the answer would go straight back, from an address that the client never called.
//
// Pods get no connection to the closed ports of the host.
func routed(name, bridge string, subnets []netip.Prefix, closed []uint16) nft.Table {
	leave := nft.Chain{Name: postrouting, Hook: nft.Leaves}
	for _, s := range subnets {
		at, bits := s.Masked().Addr().AsSlice(), s.Bits()
		source, dest := nft.IP4Source, nft.IP4Dest
		if s.Addr().Is6() {
			source, dest = nft.IP6Source, nft.IP6Dest
		}
		from := nft.Within(source, at, bits)
		leave.Rules = append(leave.Rules,
			nft.Rule{If: []nft.Match{from, nft.Not(nft.Within(dest, at, bits))}, Do: nft.Masquerade()},
			nft.Rule{If: []nft.Match{from, nft.Has(nft.TrackStatus, wasDNAT)}, Do: nft.Masquerade()},
		)
	}
	chains := []nft.Chain{leave}
	if len(closed) > 0 {
		chains = append(chains, nft.Chain{Name: input, Hook: nft.Enters, Rules: shut(bridge, closed)})
	}
	return nft.Table{Family: nft.Inet, Name: name, Chains: chains}
}

// wasDNAT is the flag of connections whose destination was rewritten.
const wasDNAT = 1 << 5

// shut answers pods that connect to ports of the host with a reset.
func shut(bridge string, ports []uint16) (rules []nft.Rule) {
	const tcp = 6
	for _, port := range ports {
		rules = append(rules, nft.Rule{If: []nft.Match{
			nft.Is(nft.InName, nft.Name(bridge)), nft.Is(nft.Transport, []byte{tcp}), nft.Is(nft.DestPort, nft.Port(port)),
		}, Do: nft.Reset()})
	}
	return rules
}

func (n *Network) routed() nft.Table {
	return routed(n.places.table(), n.places.bridge(), n.Subnets(), n.closed)
}

// whole reports whether all rules of a table are there.
func whole(t nft.Table) (bool, error) {
	for _, chain := range t.Chains {
		rules, err := nft.Rules(t.Family, t.Name, chain.Name)
		if err != nil {
			return false, err
		}
		if rules < len(chain.Rules) {
			return false, nil
		}
	}
	return true, nil
}

// removePortmapTables removes the tables of the portmap plugin in which no port is open.
func removePortmapTables() error {
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("reach nftables: %w", err)
	}
	for _, family := range []nftables.TableFamily{nftables.TableFamilyIPv4, nftables.TableFamilyIPv6} {
		table, err := conn.ListTableOfFamily(portTable, family)
		if err != nil {
			continue // there is none
		}
		rules, err := conn.GetRules(table, &nftables.Chain{Name: portsChain, Table: table})
		if err != nil || len(rules) > 0 {
			continue
		}
		conn.DelTable(table)
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("remove the tables of host ports: %w", err)
	}
	return nil
}
