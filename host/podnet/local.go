package podnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// keepLocal has packets for a subnet stay on the machine: one without a default route could not even begin to send them. The
// route also tells other nodes of the machine which subnet is taken.
func keepLocal(subnet netip.Prefix) error {
	return changeRoute(subnet, unix.RTM_NEWROUTE, netlink.Create|netlink.Excl, unix.EEXIST)
}

// letGo takes the route away.
func letGo(subnet netip.Prefix) error { return changeRoute(subnet, unix.RTM_DELROUTE, 0, unix.ESRCH) }

// changeRoute changes the route of a subnet to the machine's own interface. done says that there was nothing to change.
func changeRoute(subnet netip.Prefix, kind netlink.HeaderType, flags netlink.HeaderFlags, done error) error {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return fmt.Errorf("find the machine's own interface: %w", err)
	}
	conn, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return fmt.Errorf("reach the kernel's network: %w", err)
	}
	defer conn.Close()
	attributes := netlink.NewAttributeEncoder()
	attributes.Bytes(unix.RTA_DST, subnet.Addr().AsSlice())
	attributes.Uint32(unix.RTA_OIF, uint32(lo.Index))
	raw, err := attributes.Encode()
	if err != nil {
		return err
	}
	err = changeLink(conn, kind, flags, append([]byte{
		unix.AF_INET, byte(subnet.Bits()), 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_STATIC, unix.RT_SCOPE_LINK, unix.RTN_UNICAST, 0, 0, 0, 0,
	}, raw...))
	if err != nil && !errors.Is(err, done) {
		return fmt.Errorf("change the route of %s: %w", subnet, err)
	}
	return nil
}
