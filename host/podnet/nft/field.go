package nft

import (
	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Field is a part of a packet, or something that the kernel knows of it.
type Field int

// Fields of packets. A packet that does not have a field meets no condition on it.
const (
	InLink         Field = iota // the index of the interface that it came by
	InName                      // the name of that
	OutName                     // the name of the interface that it leaves by
	FrameType                   // what the frame carries
	CardSource                  // hardware addresses of the frame
	CardDest                    //
	IP4Source                   //
	IP4Dest                     //
	IP6Source                   //
	IP6Dest                     //
	ARPKind                     // kinds and lengths of the addresses in a message of ARP
	ARPSenderCard               //
	ARPSender                   //
	Mark                        // flags that programs of the host give packets
	Transport                   // the number of the protocol above IP
	DestPort                    //
	ICMP4Type                   //
	ICMP6Type                   //
	NeighborTarget              // the address that a neighbor advertisement is about
	TrackState                  // flags that say how a packet belongs to its connection
	TrackStatus                 // flags of the connection
	DestKind                    // whose address a packet goes to
	Number                      // a number that is chosen
	TrackReply                  // one byte: 0 from the side that has opened the connection, 1 from the other
)

// fieldOf says how the kernel reads a field.
type fieldOf struct {
	words string
	kind  nftables.SetDatatype
	load  func(register uint32) expr.Any
	frame uint16 // the type of frames that have the field; 0 for all of them
}

// Types of frames, in the order of bytes of the network.
const (
	FrameIP4 = 0x0800
	FrameIP6 = 0x86dd
	FrameARP = 0x0806
)

// Local is the value of DestKind for addresses of the machine.
const Local = unix.RTN_LOCAL

// Kinds of values that the library does not name.
var (
	addressKind = nftables.SetDatatype{Name: "fib_addrtype", Bytes: 4}
	destKind    = fieldOf{"fib daddr type", addressKind, func(r uint32) expr.Any {
		return &expr.Fib{Register: r, FlagDADDR: true, ResultADDRTYPE: true}
	}, 0}
)

var arpKind = nftables.SetDatatype{Name: "integer", Bytes: 6}

var fields = map[Field]fieldOf{
	InLink:         known("iif", nftables.TypeIFIndex, expr.MetaKeyIIF),
	InName:         known("iifname", nftables.TypeIFName, expr.MetaKeyIIFNAME),
	OutName:        known("oifname", nftables.TypeIFName, expr.MetaKeyOIFNAME),
	FrameType:      known("meta protocol", nftables.TypeEtherType, expr.MetaKeyPROTOCOL),
	CardSource:     frame("ether saddr", 6),
	CardDest:       frame("ether daddr", 0),
	IP4Source:      inner("ip saddr", nftables.TypeIPAddr, 12, FrameIP4),
	IP4Dest:        inner("ip daddr", nftables.TypeIPAddr, 16, FrameIP4),
	IP6Source:      inner("ip6 saddr", nftables.TypeIP6Addr, 8, FrameIP6),
	IP6Dest:        inner("ip6 daddr", nftables.TypeIP6Addr, 24, FrameIP6),
	ARPKind:        inner("arp kind", arpKind, 0, FrameARP),
	ARPSenderCard:  inner("arp saddr ether", nftables.TypeEtherAddr, 8, FrameARP),
	ARPSender:      inner("arp saddr ip", nftables.TypeIPAddr, 14, FrameARP),
	Mark:           known("meta mark", nftables.TypeMark, expr.MetaKeyMARK),
	Transport:      known("meta l4proto", nftables.TypeInetProto, expr.MetaKeyL4PROTO),
	DestPort:       upper("th dport", nftables.TypeInetService, 2, 0),
	ICMP4Type:      upper("icmp type", nftables.TypeICMPType, 0, FrameIP4),
	ICMP6Type:      upper("icmpv6 type", nftables.TypeICMP6Type, 0, FrameIP6),
	NeighborTarget: upper("neighbor target", nftables.TypeIP6Addr, 8, FrameIP6),
	TrackState:     tracked("ct state", nftables.TypeCTState, expr.CtKeySTATE),
	TrackStatus:    tracked("ct status", nftables.TypeCTStatus, expr.CtKeySTATUS),
	DestKind:       destKind,
	Number:         known("number", nftables.TypeMark, expr.MetaKeyMARK),
	TrackReply:     tracked("ct direction", nftables.TypeCTDir, expr.CtKeyDIRECTION),
}

func known(words string, kind nftables.SetDatatype, key expr.MetaKey) fieldOf {
	return fieldOf{words, kind, func(r uint32) expr.Any { return &expr.Meta{Key: key, Register: r} }, 0}
}

func tracked(words string, kind nftables.SetDatatype, key expr.CtKey) fieldOf {
	return fieldOf{words, kind, func(r uint32) expr.Any { return &expr.Ct{Key: key, Register: r} }, 0}
}

func frame(words string, offset uint32) fieldOf {
	return payload(words, nftables.TypeEtherAddr, expr.PayloadBaseLLHeader, offset, 0)
}

func inner(words string, kind nftables.SetDatatype, offset uint32, frame uint16) fieldOf {
	return payload(words, kind, expr.PayloadBaseNetworkHeader, offset, frame)
}

func upper(words string, kind nftables.SetDatatype, offset uint32, frame uint16) fieldOf {
	return payload(words, kind, expr.PayloadBaseTransportHeader, offset, frame)
}

func payload(
	words string, kind nftables.SetDatatype, base expr.PayloadBase, offset uint32, frame uint16,
) fieldOf {
	load := func(r uint32) expr.Any {
		return &expr.Payload{DestRegister: r, Base: base, Offset: offset, Len: kind.Bytes}
	}
	return fieldOf{words, kind, load, frame}
}

// frameOf returns the type of the frames that have all of some fields; 0 for all frames.
func frameOf(all []Field) uint16 {
	for _, f := range all {
		if under := fields[f].frame; under != 0 {
			return under
		}
	}
	return 0
}
