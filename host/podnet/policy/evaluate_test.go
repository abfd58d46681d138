package policy

import (
	"bytes"
	"slices"
	"testing"

	"nodal/host/podnet/nft"
)

// fieldsOf are the fields of the first packet of a connection.
func fieldsOf(p packet) map[nft.Field][]byte {
	source, dest := nft.IP4Source, nft.IP4Dest
	if p.from.Is6() {
		source, dest = nft.IP6Source, nft.IP6Dest
	}
	return map[nft.Field][]byte{
		source: p.from.AsSlice(), dest: p.to.AsSlice(), nft.TrackReply: {0}, nft.TrackState: {0, 0, 0, 0},
		nft.Transport: {number(p.protocol)}, nft.DestPort: port(p.port),
	}
}

// machine runs a table as the kernel would.
type machine struct {
	t      *testing.T
	table  nft.Table
	packet map[nft.Field][]byte
	steps  int
}

// passes reports whether a packet passes all base chains of a table.
func passes(t *testing.T, table nft.Table, p packet) (passes bool, steps int) {
	m := &machine{t: t, table: table, packet: fieldsOf(p)}
	for _, hook := range []*nft.Hook{nft.Passes, nft.PassesLater} {
		for _, c := range table.Chains {
			if c.Hook == hook && m.run(c.Name) == nft.ToDrop {
				return false, m.steps
			}
		}
	}
	return true, m.steps
}

// run returns ToAccept, ToDrop, or ToJump at the end of a chain without a verdict.
func (m *machine) run(name string) nft.Kind {
	at := slices.IndexFunc(m.table.Chains, func(c nft.Chain) bool { return c.Name == name })
	if at < 0 {
		m.t.Fatalf("no chain %s in\n%s", name, m.table)
	}
	for _, r := range m.table.Chains[at].Rules {
		m.steps++
		if slices.ContainsFunc(r.If, func(c nft.Match) bool { return !m.matches(c) }) {
			continue
		}
		to := r.Do.Chain
		switch r.Do.Kind {
		case nft.ToAccept, nft.ToDrop:
			return r.Do.Kind
		case nft.ToChosen:
			key := m.find(r.Do.Set, r.Do.Fields)
			if key == nil {
				continue
			}
			to = key.Chain
		case nft.ToJump:
		default:
			m.t.Fatalf("rule %s is unknown here", r)
		}
		if verdict := m.run(to); verdict != nft.ToJump {
			return verdict
		}
	}
	return nft.ToJump
}

func (m *machine) matches(c nft.Match) bool {
	value, has := m.packet[c.Fields[0]]
	switch {
	case !has:
		return false
	case c.Set != "":
		return (m.find(c.Set, c.Fields) != nil) != c.Not
	case c.Flags != 0:
		return c.Not // a first packet has none of them
	case c.Last != nil:
		return (bytes.Compare(c.Value, value) <= 0 && bytes.Compare(value, c.Last) <= 0) != c.Not
	}
	return bytes.Equal(value, c.Value) != c.Not
}

// find returns the key of a set that holds the packet's fields, or nil.
func (m *machine) find(name string, fields []nft.Field) *nft.Key {
	at := slices.IndexFunc(m.table.Sets, func(s nft.Set) bool { return s.Name == name })
	if at < 0 {
		m.t.Fatalf("no set %s in\n%s", name, m.table)
	}
	s := m.table.Sets[at]
	for i, k := range s.Keys {
		fits := true
		for j, f := range fields {
			value, has := m.packet[f]
			if s.Ranges {
				fits = has && bytes.Compare(k.Values[0], value) <= 0 && bytes.Compare(value, k.Last) <= 0
			} else {
				fits = fits && has && bytes.Equal(k.Values[j], value)
			}
		}
		if fits {
			return &s.Keys[i]
		}
	}
	return nil
}
