package nft

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/google/nftables"
)

// String writes a table much as the program nft does.
func (t Table) String() string {
	family := "inet"
	if t.Family == Bridge {
		family = "bridge"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "table %s %s {\n", family, t.Name)
	for _, s := range t.Sets {
		s.write(&b)
	}
	for _, c := range t.Chains {
		fmt.Fprintf(&b, "  chain %s {\n", c.Name)
		if c.Hook != nil {
			fmt.Fprintf(&b, "    hook %s\n", c.Hook.words)
		}
		for _, r := range c.Rules {
			fmt.Fprintf(&b, "    %s\n", r)
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func (s Set) write(b *strings.Builder) {
	kind := "set"
	if s.Map {
		kind = "map"
	}
	fmt.Fprintf(b, "  %s %s {\n    type %s\n", kind, s.Name, names(s.Fields))
	for _, k := range s.Keys {
		var words []string
		for i, v := range k.Values {
			words = append(words, value(s.Fields[i], v))
		}
		line := strings.Join(words, " . ")
		if k.Last != nil && !bytes.Equal(k.Last, k.Values[0]) {
			line += "-" + value(s.Fields[0], k.Last)
		}
		for i, v := range k.To {
			line += []string{" : ", " . "}[min(i, 1)] + value(s.To[i], v)
		}
		if s.Map && len(s.To) == 0 {
			line += " : jump " + k.Chain
		}
		fmt.Fprintf(b, "    %s\n", line)
	}
	b.WriteString("  }\n")
}

func names(all []Field) string {
	words := make([]string, len(all))
	for i, f := range all {
		words[i] = fields[f].words
	}
	return strings.Join(words, " . ")
}

func (r Rule) String() string {
	var words []string
	for _, m := range r.If {
		words = append(words, m.String())
	}
	return strings.Join(append(words, r.Do.String()), " ")
}

func (m Match) String() string {
	words := names(m.Fields) + " "
	if m.Not {
		words += "!= "
	}
	f := m.Fields[0]
	switch {
	case m.Set != "":
		return words + "@" + m.Set
	case m.Flags != 0:
		return words + fmt.Sprintf("%#x", m.Flags)
	case m.Last != nil:
		return words + value(f, m.Value) + "-" + value(f, m.Last)
	case m.Bits != 0:
		return words + value(f, m.Value) + "/" + strconv.Itoa(m.Bits)
	}
	return words + value(f, m.Value)
}

func (v Verdict) String() string {
	switch v.Kind {
	case ToDrop:
		return "drop"
	case ToJump:
		return "jump " + v.Chain
	case ToMasquerade:
		return "masquerade"
	case ToReset:
		return "reject with tcp reset"
	case ToChosen:
		return names(v.Fields) + " vmap @" + v.Set
	case ToHost:
		return "ether daddr set " + net.HardwareAddr(v.Card).String() + " meta pkttype set host"
	case ToRefused:
		return "reject"
	case ToBackend:
		by := "numgen random"
		if v.Choice.BySource {
			by = "jhash ip saddr"
		}
		return fmt.Sprintf("dnat ip to %s mod %d offset %d map @%s", by, v.Choice.Count, v.Choice.First, v.Set)
	case ToMarked:
		return fmt.Sprintf("meta mark set mark | %#x", v.Flags)
	}
	return "accept"
}

// value writes the value of a field.
func value(f Field, v []byte) string {
	switch kind := fields[f].kind; kind.Name {
	case nftables.TypeIPAddr.Name, nftables.TypeIP6Addr.Name:
		ip, _ := netip.AddrFromSlice(v)
		return ip.String()
	case nftables.TypeEtherAddr.Name:
		return net.HardwareAddr(v).String()
	case nftables.TypeIFName.Name:
		return strconv.Quote(string(bytes.TrimRight(v, "\x00")))
	case nftables.TypeIFIndex.Name:
		return strconv.Itoa(int(binary.NativeEndian.Uint32(v)))
	case nftables.TypeInetService.Name:
		return strconv.Itoa(int(binary.BigEndian.Uint16(v)))
	case nftables.TypeInetProto.Name, nftables.TypeICMPType.Name, nftables.TypeICMP6Type.Name, nftables.TypeCTDir.Name:
		return strconv.Itoa(int(v[0]))
	case nftables.TypeMark.Name:
		return strconv.Itoa(int(binary.NativeEndian.Uint32(v)))
	}
	return fmt.Sprintf("0x%x", v)
}

// Index is the value of InLink for the index of an interface.
func Index(index int) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(index)) }

// Name is the value of the name of an interface.
func Name(name string) []byte {
	padded := make([]byte, nftables.TypeIFName.Bytes)
	copy(padded, name)
	return padded
}

// Port is the value of a port, or of a type of frame.
func Port(number uint16) []byte { return binary.BigEndian.AppendUint16(nil, number) }
