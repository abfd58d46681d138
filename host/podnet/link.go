package podnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"nodal/host/thread"
)

// tryNetwork makes a bridge and a veth pair in a network namespace of their own, which ends with its thread.
func tryNetwork() error {
	return thread.Own(tryLinks)
}

func tryLinks() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make a network namespace: %w", err)
	}
	conn, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return fmt.Errorf("reach the kernel's network: %w", err)
	}
	defer conn.Close()
	for _, kind := range []string{"bridge", "veth"} {
		if err := addLink(conn, kind); err != nil {
			return fmt.Errorf("make a %s: %w", kind, err)
		}
	}
	return nil
}

func addLink(conn *netlink.Conn, kind string) error {
	attributes := netlink.NewAttributeEncoder()
	attributes.String(unix.IFLA_IFNAME, "try-"+kind)
	attributes.Nested(unix.IFLA_LINKINFO, func(info *netlink.AttributeEncoder) error {
		info.String(unix.IFLA_INFO_KIND, kind)
		return nil
	})
	raw, err := attributes.Encode()
	if err != nil {
		return err
	}
	header := make([]byte, unix.SizeofIfInfomsg)
	return changeLink(conn, unix.RTM_NEWLINK, netlink.Create|netlink.Excl, append(header, raw...))
}

func changeLink(conn *netlink.Conn, kind netlink.HeaderType, flags netlink.HeaderFlags, data []byte) error {
	_, err := conn.Execute(netlink.Message{
		Header: netlink.Header{Type: kind, Flags: netlink.Request | netlink.Acknowledge | flags},
		Data:   data,
	})
	return err
}

// removeBridge removes a bridge, and the host's ends of pods that are still on it.
func removeBridge(bridge string) error {
	ports, err := os.ReadDir(filepath.Join("/sys/class/net", bridge, "brif"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("list the ports of bridge %s: %w", bridge, err)
	}
	conn, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return fmt.Errorf("reach the kernel's network: %w", err)
	}
	defer conn.Close()
	var errs []error
	for _, p := range ports {
		errs = append(errs, deleteLink(conn, p.Name()))
	}
	return errors.Join(append(errs, deleteLink(conn, bridge))...)
}

func deleteLink(conn *netlink.Conn, name string) error {
	link, err := net.InterfaceByName(name)
	if err != nil {
		return nil // it is gone, as is the end of a pair whose other end went
	}
	info := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(info[4:], uint32(link.Index))
	err = changeLink(conn, unix.RTM_DELLINK, 0, info)
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("delete network interface %s: %w", name, err)
	}
	return nil
}
