package nft

import (
	"fmt"
	"sync"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
)

// mu is held while messages are written: the library counts sets in a variable of all connections.
var mu sync.Mutex

// Remove removes tables that are there.
func Remove(tables ...Table) error {
	for i, t := range tables {
		tables[i] = Table{Family: t.Family, Name: t.Name}
	}
	return Replace(tables...)
}

// Replace lays tables down in one transaction, in place of those with their names. A table without chains is removed.
func Replace(tables ...Table) error {
	mu.Lock()
	defer mu.Unlock()
	conn, err := nftables.New(nftables.WithSockOptions(roomy))
	if err != nil {
		return fmt.Errorf("reach nftables: %w", err)
	}
	for _, t := range tables {
		in := &nftables.Table{Name: t.Name, Family: t.Family}
		// Adding before deleting: to delete what is not there is an error.
		conn.AddTable(in)
		conn.DelTable(in)
		if len(t.Chains) == 0 {
			continue
		}
		conn.AddTable(in)
		if err := fill(conn, t, in); err != nil {
			return fmt.Errorf("write nftables table %s: %w", t.Name, err)
		}
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("change nftables table %s: %w", tables[0].Name, err)
	}
	return nil
}

// roomy makes room for a transaction, which is sent at once, and for the kernel's answer to each part of it.
func roomy(conn *netlink.Conn) error {
	const room = 32 << 20
	if err := conn.SetWriteBuffer(room); err != nil {
		return err
	}
	return conn.SetReadBuffer(room)
}

func fill(conn *nftables.Conn, t Table, in *nftables.Table) error {
	chains := make([]*nftables.Chain, len(t.Chains))
	for i, c := range t.Chains {
		chains[i] = &nftables.Chain{Name: c.Name, Table: in}
		if c.Hook != nil {
			chains[i].Type, chains[i].Hooknum, chains[i].Priority = c.Hook.kind, c.Hook.point, c.Hook.priority
		}
		conn.AddChain(chains[i])
	}
	for _, s := range t.Sets {
		if err := fillSet(conn, s, in); err != nil {
			return err
		}
	}
	for i, c := range t.Chains {
		for _, r := range c.Rules {
			conn.AddRule(&nftables.Rule{Table: in, Chain: chains[i], Exprs: r.exprs()})
		}
	}
	return nil
}

// fillSet adds a set, and its elements in messages whose length fits into the 16 bits that the kernel has for it.
func fillSet(conn *nftables.Conn, s Set, in *nftables.Table) error {
	const most = 256
	set := s.setOf(in)
	if err := conn.AddSet(set, nil); err != nil {
		return err
	}
	elements := s.elements()
	for len(elements) > 0 {
		n := min(most, len(elements))
		if err := conn.SetAddElements(set, elements[:n]); err != nil {
			return err
		}
		elements = elements[n:]
	}
	return nil
}

// Rules counts the rules of a table's chain: none if it is not there.
func Rules(family Family, table, chain string) (int, error) {
	conn, err := nftables.New()
	if err != nil {
		return 0, fmt.Errorf("reach nftables: %w", err)
	}
	t := &nftables.Table{Name: table, Family: family}
	rules, err := conn.GetRules(t, &nftables.Chain{Name: chain, Table: t})
	return len(rules), err
}
