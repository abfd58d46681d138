package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

var errForbidden = errors.New("probes and hooks may not go there")

func newReach(hostNetwork bool) reach {
	dial := newDial(hostNetwork)
	plainHTTP2 := newTransport(dial)
	plainHTTP2.Protocols = &http.Protocols{}
	plainHTTP2.Protocols.SetUnencryptedHTTP2(true)
	return reach{dial: dial, http: newTransport(dial), http2: plainHTTP2}
}

// newDial returns a function that opens connections. They leave nothing behind when they are closed.
func newDial(hostNetwork bool) dialFunc {
	dialer := &net.Dialer{
		KeepAlive: -1,
		// This address is the one that is really dialled, not an earlier result of
		// resolving the name.
		Control: func(_, address string, _ syscall.RawConn) error { return allowed(address, hostNetwork) },
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			if err := tcp.SetLinger(0); err != nil {
				_ = conn.Close()
				return nil, err
			}
		}
		return conn, nil
	}
}

// allowed returns an error unless a pod's probe may ask at an address. A manifest may name any host, and the status
// of the pod shows its author what the node sees there. The machine's own services and its cloud's credentials must
// stay hidden. The machine's own addresses are allowed to pods on its network, which have no others.
func allowed(address string, hostNetwork bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("parse address %q: %w", address, err)
	}
	ip := at.Addr().Unmap()
	switch {
	case ip.IsLoopback() && hostNetwork:
		return nil
	case ip.IsLoopback(), ip.IsUnspecified(), ip.IsMulticast(), ip.IsLinkLocalUnicast(), slices.Contains(metadata(), ip.WithZone("")):
		return fmt.Errorf("%s: %w", ip, errForbidden)
	case !hostNetwork && isMachine(ip):
		return fmt.Errorf("%s is an address of the machine itself: %w", ip, errForbidden)
	}
	return nil
}

// isMachine reports whether packets to an address stay on the machine: the kernel sends those from that same address.
// No packet is sent, and no list of the machine's interfaces is read, which is long where pods are many.
func isMachine(ip netip.Addr) bool {
	const anyPort = 9
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, anyPort)))
	if err != nil {
		return false // without a route, a dial fails as well
	}
	defer conn.Close()
	local, ok := conn.LocalAddr().(*net.UDPAddr)
	return ok && local.AddrPort().Addr().Unmap() == ip
}

// metadata lists the addresses of clouds' metadata services that are not link-local.
func metadata() []netip.Addr {
	return []netip.Addr{
		netip.AddrFrom4([4]byte{100, 100, 100, 200}),
		netip.AddrFrom4([4]byte{168, 63, 129, 16}),
		netip.AddrFrom16([16]byte{0: 0xfd, 2: 0x0e, 3: 0xc2, 14: 0x02, 15: 0x54}),
		netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x20, 3: 0xce, 14: 0x02, 15: 0x54}),
	}
}
