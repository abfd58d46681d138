package podnet

import (
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

const postrouting = "postrouting" // the table's one chain

// masquerade gives packets of pods that leave the machine its address. The node alone uses the table, and
// replaces it in one transaction: no packet meets half of it.
//
//	ip saddr S ip daddr != S masquerade
//	ip saddr S ct status dnat masquerade
//
// The second rule is for a pod that reaches another pod over a host port. Both are on one bridge: without it the
// answer would go straight back, from an address that the client never called.
func masquerade(name string, subnets []netip.Prefix) error {
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("reach nftables: %w", err)
	}
	table := &nftables.Table{Name: name, Family: nftables.TableFamilyINet}
	// Adding before deleting: to delete what is not there is an error.
	conn.AddTable(table)
	conn.DelTable(table)
	conn.AddTable(table)
	chain := conn.AddChain(&nftables.Chain{
		Name: postrouting, Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookPostrouting, Priority: nftables.ChainPriorityNATSource,
	})
	for _, s := range subnets {
		leaving := append(within(s, saddr, expr.CmpOpEq), within(s, daddr, expr.CmpOpNeq)...)
		turned := append(within(s, saddr, expr.CmpOpEq), statusDNAT()...)
		for _, match := range [][]expr.Any{leaving, turned} {
			exprs := append(match, &expr.Counter{}, &expr.Masq{})
			conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: exprs})
		}
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("set up nftables table %s: %w", name, err)
	}
	return nil
}

// masquerading counts the table's rules: none if the table is gone.
func masquerading(name string) (int, error) {
	conn, err := nftables.New()
	if err != nil {
		return 0, err
	}
	table := &nftables.Table{Name: name, Family: nftables.TableFamilyINet}
	rules, err := conn.GetRules(table, &nftables.Chain{Name: postrouting, Table: table})
	return len(rules), err
}

// removeMasquerade removes the table if it is there.
func removeMasquerade(name string) error {
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("reach nftables: %w", err)
	}
	table := &nftables.Table{Name: name, Family: nftables.TableFamilyINet}
	conn.AddTable(table)
	conn.DelTable(table)
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("remove nftables table %s: %w", name, err)
	}
	return nil
}

type field int

const (
	saddr field = iota
	daddr
)

// within matches packets whose address lies in a subnet, or lies outside of it.
func within(subnet netip.Prefix, f field, op expr.CmpOp) []expr.Any {
	family, offset := byte(unix.NFPROTO_IPV4), uint32(12)
	if subnet.Addr().Is6() {
		family, offset = unix.NFPROTO_IPV6, 8
	}
	address := subnet.Masked().Addr().AsSlice()
	size := uint32(len(address))
	if f == daddr {
		offset += size
	}
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{family}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: size},
		&expr.Bitwise{
			SourceRegister: 1, DestRegister: 1, Len: size,
			Mask: mask(subnet.Bits(), len(address)), Xor: make([]byte, size),
		},
		&expr.Cmp{Op: op, Register: 1, Data: address},
	}
}

func mask(ones, size int) []byte {
	m := make([]byte, size)
	for i := range ones {
		m[i/8] |= 0x80 >> (i % 8)
	}
	return m
}

// statusDNAT matches connections whose destination was rewritten.
func statusDNAT() []expr.Any {
	const dnat = 1 << 5 // IPS_DST_NAT
	return []expr.Any{
		&expr.Ct{Key: expr.CtKeySTATUS, Register: 1},
		&expr.Bitwise{
			SourceRegister: 1, DestRegister: 1, Len: 4,
			Mask: binaryutil.NativeEndian.PutUint32(dnat), Xor: make([]byte, 4),
		},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: make([]byte, 4)},
	}
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
