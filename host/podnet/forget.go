package podnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"nodal/host/podnet/service"
)

// Messages and attributes of the kernel's tracking of connections.
const (
	trackGet       = unix.NFNL_SUBSYS_CTNETLINK<<8 | 1
	trackDelete    = unix.NFNL_SUBSYS_CTNETLINK<<8 | 2
	trackHeader    = 4 // bytes: family, version, resource
	trackOriginal  = 1
	trackReply     = 2
	tupleAddresses = 1
	tupleProtocol  = 2
	addressSource4 = 1
	addressDest4   = 2
	protocolNumber = 1
	protocolSource = 2
	protocolDest   = 3
)

// forget has the kernel forget conversations over UDP with backends that are gone. They have no end of their own: a client
// that goes on asking would go on getting no answer.
func forget(gone map[service.Link]bool) error {
	if len(gone) == 0 {
		return nil
	}
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return fmt.Errorf("reach the tracking of connections: %w", err)
	}
	defer conn.Close()
	tracked, err := conn.Execute(netlink.Message{
		Header: netlink.Header{Type: trackGet, Flags: netlink.Request | netlink.Dump}, Data: []byte{unix.AF_INET, 0, 0, 0},
	})
	if err != nil {
		return fmt.Errorf("list connections: %w", err)
	}
	var errs []error
	for _, m := range tracked {
		original, link, err := readTracked(m.Data)
		if err != nil || original == nil || !gone[link] && !gone[link.OnNode()] {
			continue
		}
		attribute, err := netlink.MarshalAttributes([]netlink.Attribute{{Type: unix.NLA_F_NESTED | trackOriginal, Data: original}})
		if err != nil {
			return err
		}
		_, err = conn.Execute(netlink.Message{
			Header: netlink.Header{Type: trackDelete, Flags: netlink.Request | netlink.Acknowledge},
			Data:   append([]byte{unix.AF_INET, 0, 0, 0}, attribute...),
		})
		if err != nil && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// readTracked reads a conversation over UDP: its first tuple as it stands, and which port was called and what answers.
func readTracked(data []byte) (original []byte, link service.Link, err error) {
	if len(data) < trackHeader {
		return nil, link, nil
	}
	all, err := netlink.UnmarshalAttributes(data[trackHeader:])
	if err != nil {
		return nil, link, err
	}
	for _, a := range all {
		switch a.Type &^ (unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER) {
		case trackOriginal:
			_, to, protocol, err := readTuple(a.Data)
			if err != nil || protocol != service.UDP {
				return nil, link, err
			}
			original, link.At = a.Data, to
		case trackReply:
			from, _, _, err := readTuple(a.Data)
			if err != nil {
				return nil, link, err
			}
			link.Backend = from
		}
	}
	return original, link, nil
}

func readTuple(data []byte) (from, to netip.AddrPort, protocol byte, err error) {
	parts, err := nested(data)
	if err != nil {
		return from, to, 0, err
	}
	addresses, err := nested(parts[tupleAddresses])
	if err != nil {
		return from, to, 0, err
	}
	numbers, err := nested(parts[tupleProtocol])
	if err != nil || len(numbers[protocolNumber]) == 0 {
		return from, to, 0, err
	}
	return place4(addresses[addressSource4], numbers[protocolSource]), place4(addresses[addressDest4], numbers[protocolDest]), numbers[protocolNumber][0], nil
}

func nested(data []byte) (map[uint16][]byte, error) {
	all, err := netlink.UnmarshalAttributes(data)
	found := map[uint16][]byte{}
	for _, a := range all {
		found[a.Type&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)] = a.Data
	}
	return found, err
}

// place4 is an address with a port; it is not valid if one of them is missing.
func place4(address, port []byte) netip.AddrPort {
	a, ok := netip.AddrFromSlice(address)
	if !ok || len(port) != 2 {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(port))
}
