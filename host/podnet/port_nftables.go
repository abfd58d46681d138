package podnet

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// nftFirewall is the plugin's table of nftables. Each rule bears the ID of its sandbox as a comment.
type nftFirewall struct{}

const (
	portTable  = "cni_hostport"
	portsChain = "hostports"
)

// portChains are the chains with rules of pods. Packets to the host meet the first before the second.
func portChains() []string { return []string{"hostip_hostports", portsChain, "masquerading"} }

func (nftFirewall) list(context.Context) ([]portRule, error) {
	conn, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("reach nftables: %w", err)
	}
	var found []portRule
	for _, family := range []nftables.TableFamily{nftables.TableFamilyIPv4, nftables.TableFamilyIPv6} {
		tables, err := conn.ListTablesOfFamily(family)
		if err != nil {
			return nil, fmt.Errorf("list nftables tables: %w", err)
		}
		for _, table := range tables {
			if table.Name != portTable {
				continue
			}
			rules, err := listPortTable(conn, table)
			if err != nil {
				return nil, err
			}
			found = append(found, rules...)
		}
	}
	return found, nil
}

func listPortTable(conn *nftables.Conn, table *nftables.Table) ([]portRule, error) {
	var found []portRule
	for _, name := range portChains() {
		rules, err := conn.GetRules(table, &nftables.Chain{Name: name, Table: table})
		if err != nil {
			return nil, fmt.Errorf("list the rules of host ports: %w", err)
		}
		for _, rule := range rules {
			r := readPortRule(table.Family, rule)
			r.place.chain = name
			found = append(found, r)
		}
	}
	return found, nil
}

// remove removes all rules in one transaction, which fails if one of them is gone.
func (nftFirewall) remove(_ context.Context, rules []portRule) error {
	if len(rules) == 0 {
		return nil
	}
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("reach nftables: %w", err)
	}
	for _, r := range rules {
		table := &nftables.Table{Name: portTable, Family: r.place.family}
		rule := &nftables.Rule{
			Table: table, Chain: &nftables.Chain{Name: r.place.chain, Table: table}, Handle: r.place.handle,
		}
		if err := conn.DelRule(rule); err != nil {
			return fmt.Errorf("remove a rule of host ports: %w", err)
		}
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("remove the rules of host ports: %w", err)
	}
	return nil
}

// readPortRule reads what the program nft makes of the plugin's rules: each comparison follows the load of a field,
// and the address to go to is put into a register before it is used.
func readPortRule(family nftables.TableFamily, rule *nftables.Rule) portRule {
	r := portRule{sandbox: comment(rule.UserData), place: place{family: family, handle: rule.Handle}}
	var loaded expr.Any
	var to netip.Addr // the destination of packets
	registers := map[uint32][]byte{}
	for _, e := range rule.Exprs {
		switch e := e.(type) {
		case *expr.Meta, *expr.Payload:
			loaded = e
		case *expr.Immediate:
			registers[e.Register] = e.Data
		case *expr.Cmp:
			if e.Op == expr.CmpOpEq {
				to = r.port.compare(family, loaded, e.Data, to)
			}
		case *expr.NAT:
			if e.Type == expr.NATTypeDestNAT {
				r.pod, _ = netip.AddrFromSlice(registers[e.RegAddrMin])
			}
		}
	}
	if r.pod.IsValid() {
		r.port.address = to
	} else {
		r.pod = to // of a rule that masquerades what goes to a pod
	}
	return r
}

// compare learns a port and its protocol from a comparison, or the address that packets go to, which it returns.
func (p *hostPort) compare(family nftables.TableFamily, loaded expr.Any, data []byte, to netip.Addr) netip.Addr {
	switch field := loaded.(type) {
	case *expr.Meta:
		if field.Key == expr.MetaKeyL4PROTO && len(data) > 0 {
			p.protocol = map[byte]string{
				unix.IPPROTO_TCP: "tcp", unix.IPPROTO_UDP: "udp", unix.IPPROTO_SCTP: "sctp",
			}[data[0]]
		}
	case *expr.Payload:
		if field.Base == expr.PayloadBaseTransportHeader && field.Offset == 2 && len(data) == 2 {
			p.number = binary.BigEndian.Uint16(data)
		}
		if field.Base == expr.PayloadBaseNetworkHeader {
			return destination(family, field.Offset, data, to)
		}
	}
	return to
}

// destination finds the destination among the bytes of a packet's head from an offset on: nft loads it together with
// the source where a rule compares both.
func destination(family nftables.TableFamily, offset uint32, data []byte, known netip.Addr) netip.Addr {
	begin, size := 16, 4
	if family == nftables.TableFamilyIPv6 {
		begin, size = 24, 16
	}
	begin -= int(offset)
	if begin < 0 || begin+size > len(data) {
		return known
	}
	addr, _ := netip.AddrFromSlice(data[begin : begin+size])
	return addr
}

// comment finds the comment among the notes that nft keeps with a rule: a kind, a length and a text each.
func comment(notes []byte) string {
	const kind = 0
	for len(notes) >= 2 && len(notes) >= 2+int(notes[1]) {
		text, rest := notes[2:2+int(notes[1])], notes[2+int(notes[1]):]
		if notes[0] == kind {
			return string(bytes.TrimRight(text, "\x00"))
		}
		notes = rest
	}
	return ""
}
