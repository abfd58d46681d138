package nft

import (
	"encoding/binary"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// register is the first of the registers of 4 bytes each.
const register = unix.NFT_REG32_00

// exprs turns a rule into the expressions of the kernel. It asks for the type of the frame before the first field that
// only frames of one type have: the kernel would read the same bytes of others.
func (r Rule) exprs() (out []expr.Any) {
	asked := uint16(0)
	ask := func(all []Field) {
		if under := frameOf(all); under != 0 && under != asked {
			out = append(out, Is(FrameType, binary.BigEndian.AppendUint16(nil, under)).exprs()...)
			asked = under
		}
	}
	for _, m := range r.If {
		ask(m.Fields)
		out = append(out, m.exprs()...)
	}
	ask(r.Do.Fields)
	return append(out, r.Do.exprs()...)
}

func load(all []Field) (out []expr.Any) {
	at := uint32(register)
	for _, f := range all {
		out = append(out, fields[f].load(at))
		at += (fields[f].kind.Bytes + 3) / 4
	}
	return out
}

func (m Match) exprs() []expr.Any {
	out := load(m.Fields)
	op := expr.CmpOpEq
	if m.Not {
		op = expr.CmpOpNeq
	}
	size := len(m.Value)
	masked := func(mask []byte) expr.Any {
		return &expr.Bitwise{
			SourceRegister: register, DestRegister: register, Len: uint32(len(mask)), Mask: mask, Xor: make([]byte, len(mask)),
		}
	}
	switch {
	case m.Set != "":
		return append(out, &expr.Lookup{SourceRegister: register, SetName: m.Set, Invert: m.Not})
	case m.Last != nil:
		return append(out, &expr.Range{Op: op, Register: register, FromData: m.Value, ToData: m.Last})
	case m.Flags != 0:
		op = expr.CmpOpNeq // than none
		if m.Not {
			op = expr.CmpOpEq
		}
		mask := binary.NativeEndian.AppendUint32(nil, m.Flags)
		return append(out, masked(mask), &expr.Cmp{Op: op, Register: register, Data: make([]byte, 4)})
	case m.Bits != 0:
		out = append(out, masked(prefixMask(m.Bits, size)))
	}
	return append(out, &expr.Cmp{Op: op, Register: register, Data: m.Value})
}

func prefixMask(ones, size int) []byte {
	m := make([]byte, size)
	for i := range ones {
		m[i/8] |= 0x80 >> (i % 8)
	}
	return m
}

func (v Verdict) exprs() []expr.Any {
	switch v.Kind {
	case ToDrop:
		return []expr.Any{&expr.Counter{}, &expr.Verdict{Kind: expr.VerdictDrop}}
	case ToJump:
		return []expr.Any{&expr.Verdict{Kind: expr.VerdictJump, Chain: v.Chain}}
	case ToMasquerade:
		return []expr.Any{&expr.Counter{}, &expr.Masq{}}
	case ToReset:
		return []expr.Any{&expr.Counter{}, &expr.Reject{Type: unix.NFT_REJECT_TCP_RST}}
	case ToChosen:
		const verdict = 0 // the register of verdicts
		return append(load(v.Fields),
			&expr.Lookup{SourceRegister: register, SetName: v.Set, DestRegister: verdict, IsDestRegSet: true})
	case ToHost:
		host := []byte{unix.PACKET_HOST}
		return []expr.Any{
			&expr.Immediate{Register: register, Data: v.Card},
			&expr.Payload{
				OperationType: expr.PayloadWrite, SourceRegister: register, Base: expr.PayloadBaseLLHeader, Len: uint32(len(v.Card)),
			},
			&expr.Immediate{Register: register, Data: host},
			&expr.Meta{Key: expr.MetaKeyPKTTYPE, SourceRegister: true, Register: register},
		}
	case ToRefused:
		return []expr.Any{&expr.Counter{}, &expr.Reject{Type: unix.NFT_REJECT_ICMPX_UNREACH, Code: unix.NFT_REJECT_ICMPX_PORT_UNREACH}}
	case ToBackend:
		return append(v.Choice.exprs(),
			&expr.Lookup{SourceRegister: register, SetName: v.Set, DestRegister: register, IsDestRegSet: true},
			&expr.NAT{
				Type: expr.NATTypeDestNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: register, RegProtoMin: register + 1, Specified: true,
			})
	case ToMarked:
		return []expr.Any{
			fields[Mark].load(register),
			&expr.Bitwise{
				SourceRegister: register, DestRegister: register, Len: 4,
				Mask: binary.NativeEndian.AppendUint32(nil, ^v.Flags), Xor: binary.NativeEndian.AppendUint32(nil, v.Flags),
			},
			&expr.Meta{Key: expr.MetaKeyMARK, SourceRegister: true, Register: register},
		}
	}
	return []expr.Any{&expr.Verdict{Kind: expr.VerdictAccept}}
}

// exprs put the number that is chosen into the first register.
func (c Choice) exprs() []expr.Any {
	if !c.BySource {
		return []expr.Any{&expr.Numgen{Register: register, Modulus: c.Count, Type: unix.NFT_NG_RANDOM, Offset: c.First}}
	}
	const seed = 26 // always the same one: clients stay when the table is laid down again
	return []expr.Any{
		fields[IP4Source].load(register),
		&expr.Hash{
			SourceRegister: register, DestRegister: register, Length: fields[IP4Source].kind.Bytes,
			Modulus: c.Count, Seed: seed, Offset: c.First, Type: expr.HashTypeJenkins,
		},
	}
}

// setOf turns a set into that of the library, in a table.
func (s Set) setOf(t *nftables.Table) *nftables.Set {
	set := &nftables.Set{
		Table: t, Name: s.Name, KeyType: kindOf(s.Fields), Concatenation: len(s.Fields) > 1, Interval: s.Ranges, IsMap: s.Map,
	}
	switch {
	case len(s.To) > 0:
		set.DataType = kindOf(s.To)
	case s.Map:
		set.DataType = nftables.TypeVerdict
	}
	return set
}

func kindOf(all []Field) nftables.SetDatatype {
	if len(all) == 1 {
		return fields[all[0]].kind
	}
	kinds := make([]nftables.SetDatatype, len(all))
	for i, f := range all {
		kinds[i] = fields[f].kind
	}
	return nftables.MustConcatSetType(kinds...)
}

// elements turns the keys of a set into elements.
func (s Set) elements() (out []nftables.SetElement) {
	for _, k := range s.Keys {
		e := nftables.SetElement{Key: joined(k.Values)}
		switch {
		case len(s.To) > 0:
			e.Val = joined(k.To)
		case s.Map:
			e.VerdictData = &expr.Verdict{Kind: expr.VerdictJump, Chain: k.Chain}
		}
		out = append(out, e)
		if end, ok := after(k.Last); s.Ranges && ok {
			out = append(out, nftables.SetElement{Key: end, IntervalEnd: true})
		}
	}
	return out
}

// joined joins values, of which each of several is padded to whole registers.
func joined(values [][]byte) (all []byte) {
	for _, v := range values {
		all = append(all, v...)
		if len(values) > 1 {
			all = append(all, make([]byte, -len(v)&3)...)
		}
	}
	return all
}

// after returns the number that follows, or false after the last.
func after(last []byte) (next []byte, ok bool) {
	next = append(next, last...)
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]++; next[i] != 0 {
			return next, true
		}
	}
	return nil, false
}
