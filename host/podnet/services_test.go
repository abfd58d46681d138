package podnet

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nodal/host/podnet/nft"
	"nodal/host/podnet/service"
)

// promises are leads that tests write.
type promises []service.Port

func (p *promises) Ports() ([]service.Port, bool) { return *p, len(*p) > 0 }

// TestServicesLeadToPods asks the kernel, with the module br_netfilter and without.
func TestServicesLeadToPods(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a network")
	}
	for _, filtered := range []string{"0", "1"} {
		t.Run("bridge-nf-call "+filtered, func(t *testing.T) {
			n, leads := newKept(t), &promises{}
			n.cache, n.served.leads = t.TempDir(), leads
			n.served.chosen.Store(&chosen{subnet: netip.MustParsePrefix("10.111.252.0/22")})
			if err := inOwnNetwork(func() error { return servicesLead(t, n, leads, filtered) }); err != nil {
				t.Error(err)
			}
		})
	}
}

func servicesLead(t *testing.T, n *Network, leads *promises, filtered string) error {
	bridge := n.places.bridge()
	if err := errors.Join(
		run("ip link add "+bridge+" type bridge", "ip link set "+bridge+" up", "ip link set lo up",
			"ip addr add 10.95.255.1/24 dev "+bridge, "ip -6 addr add fd01:2::1/64 dev "+bridge+" nodad"),
		setSysctl("bridge/bridge-nf-call-iptables", filtered), n.route(),
	); err != nil {
		return err
	}
	n.setUpGuard()
	a, err := startPod(n, 2)
	b, err2 := startPod(n, 3)
	if err := errors.Join(err, err2, n.Connect("box-veth2"), n.Connect("box-veth3")); err != nil {
		return err
	}
	defer close(a.do)
	defer close(b.do)
	for _, link := range []string{"veth2", "veth3"} { // as the bridge plugin does
		if err := run("ip link set " + link + " type bridge_slave hairpin on"); err != nil {
			return err
		}
	}
	for _, pod := range []netns{a, b} {
		l, err := pod.listen(8080)
		if err != nil {
			return err
		}
		defer l.Close()
		name(l, pod.addresses[0])
	}
	at := netip.MustParseAddrPort("10.111.252.20:80")
	onNode := netip.MustParseAddrPort("10.95.255.1:30080")
	to := func(pods ...netns) (all []netip.AddrPort) {
		for _, p := range pods {
			all = append(all, netip.AddrPortFrom(p.addresses[0], 8080))
		}
		return all
	}
	port := func(sticky bool, pods ...netns) promises {
		return promises{{At: at, Protocol: 6, OnNode: onNode.Port(), Sticky: sticky, Backends: to(pods...)}}
	}
	if *leads = port(false, b); n.RefreshServices() != nil {
		return n.RefreshServices()
	}
	fromHost := func(to netip.AddrPort) (net.Conn, error) { return net.DialTimeout("tcp", to.String(), 10*time.Second) }
	for _, c := range []struct {
		name  string
		leads promises
		dial  func(netip.AddrPort) (net.Conn, error)
		to    netip.AddrPort
		want  []netns // the pods that answer; none if the connection is refused
	}{
		{"from a pod to another", port(false, b), dialFrom(a), at, []netns{b}},
		{"from a pod to itself", port(false, a), dialFrom(a), at, []netns{a}},
		{"from a pod to both", port(false, a, b), dialFrom(a), at, []netns{a, b}},
		{"from the host", port(false, b), fromHost, at, []netns{b}},
		{"by a port of the machine, from a pod", port(false, b), dialFrom(a), onNode, []netns{b}},
		{"by a port of the machine, from the host", port(false, b), fromHost, onNode, []netns{b}},
		{"to the first alone, of two", port(false, a), fromHost, at, []netns{a}},
		{"to none, from a pod", port(false), dialFrom(a), at, nil},
		{"to none, from the host", port(false), fromHost, at, nil},
		{"to a port that the service does not have", port(false, b), dialFrom(a), netip.AddrPortFrom(at.Addr(), 81), nil},
	} {
		*leads = c.leads
		if err := n.RefreshServices(); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		seen := map[string]bool{}
		for range 40 {
			got := answer(c.dial(c.to))
			if seen[got] = true; strings.HasPrefix(got, silence) {
				break
			}
		}
		want := map[string]bool{}
		for _, p := range c.want {
			want[p.addresses[0].String()] = true
		}
		if len(want) == 0 {
			want["refused"] = true
		}
		if fmt.Sprint(seen) != fmt.Sprint(want) {
			t.Errorf("%s: %v answered, want %v", c.name, seen, want)
		}
	}
	if err := clientsStay(n, leads, port(true, a, b), dialFrom(a), at); err != nil {
		return err
	}
	byAddress, byPort := netip.MustParseAddrPort("10.111.252.21:53"), netip.AddrPortFrom(onNode.Addr(), 30053)
	return errors.Join(survivesFlush(t, n, at, a), repeat(5353, a, b), conversationMoves(t, n, leads, byAddress, a, b),
		conversationMoves(t, n, leads, byPort, a, b), cleaned(t, n))
}

// clientsStay checks that a client is always led to the same pod.
func clientsStay(n *Network, leads *promises, to promises, dial func(netip.AddrPort) (net.Conn, error), at netip.AddrPort) error {
	*leads = to
	if err := n.RefreshServices(); err != nil {
		return err
	}
	first := answer(dial(at))
	for range 20 {
		if got := answer(dial(at)); got != first || !strings.HasPrefix(got, "10.95.255.") {
			return fmt.Errorf("a client that stays is led to %s and %s", first, got)
		}
	}
	return nil
}

// survivesFlush checks that what another program takes away comes back.
func survivesFlush(t *testing.T, n *Network, at netip.AddrPort, a netns) error {
	if err := nft.Remove(nft.Table{Family: nft.Inet, Name: n.places.table() + servicesSuffix}); err != nil {
		return err
	}
	if !n.lostServices() {
		t.Error("the table is missed by nobody")
	}
	if _, err := n.renewServices(); err != nil {
		return err
	}
	if got := answer(dialFrom(a)(at)); !strings.HasPrefix(got, "10.95.255.") || n.lostServices() {
		t.Errorf("after the table came back %s answers", got)
	}
	return nil
}

// repeat has pods answer datagrams.
func repeat(port int, pods ...netns) (err error) {
	for _, pod := range pods {
		err = errors.Join(err, pod.repeatUDP(port))
	}
	return err
}

// conversationMoves checks that one socket of UDP is led to another pod when its pod goes.
func conversationMoves(t *testing.T, n *Network, leads *promises, to netip.AddrPort, a, b netns) error {
	var conn net.Conn
	for _, pod := range []netns{a, b} {
		*leads = promises{{
			At: netip.MustParseAddrPort("10.111.252.21:53"), Protocol: service.UDP, OnNode: 30053,
			Backends: []netip.AddrPort{netip.AddrPortFrom(pod.addresses[0], 5353)},
		}}
		if err := n.RefreshServices(); err != nil {
			return err
		}
		if conn == nil {
			var err error
			if conn, err = net.Dial("udp", to.String()); err != nil {
				return err
			}
		}
		if got := ask(conn); got != pod.addresses[0].String() {
			t.Errorf("at %s %q answers, want %s", to, got, pod.addresses[0])
		}
	}
	return conn.Close()
}

// cleaned checks that nothing is left.
func cleaned(t *testing.T, n *Network) error {
	if err := os.MkdirAll(filepath.Dir(n.places.subnetFile()), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(n.places.subnetFile(), []byte(n.ServiceSubnet().String()), 0o600); err != nil {
		return err
	}
	for range 2 {
		if err := n.removeServices(); err != nil {
			return err
		}
	}
	routes, err := hostRoutes(n.places.bridge())
	if overlapsAny(n.ServiceSubnet(), routes) || !n.lostServices() {
		t.Errorf("something is left: %v", routes)
	}
	return err
}

func dialFrom(p netns) func(netip.AddrPort) (net.Conn, error) {
	return func(to netip.AddrPort) (net.Conn, error) { return p.dial(to, 10*time.Second) }
}

// name has a listener answer each connection with a name.
func name(l net.Listener, with netip.Addr) {
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, with.String())
			_ = conn.Close()
		}
	}()
}

// silence is no answer at all, which takes long to find out.
const silence = "silence"

// answer returns what a connection says, or why there is none.
func answer(conn net.Conn, err error) string {
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		return "refused"
	case err != nil:
		return silence + ": " + err.Error()
	}
	defer conn.Close()
	text, _ := io.ReadAll(conn)
	return string(text)
}

// repeatUDP answers datagrams with the pod's address.
func (p netns) repeatUDP(port int) error {
	return p.inside(func() error {
		conn, err := net.ListenPacket("udp4", fmt.Sprintf(":%d", port))
		if err != nil {
			return err
		}
		go func() {
			for {
				_, from, err := conn.ReadFrom(make([]byte, 8))
				if err != nil {
					return
				}
				_, _ = conn.WriteTo([]byte(p.addresses[0].String()), from)
			}
		}()
		return nil
	})
}

func ask(conn net.Conn) string {
	buffer := make([]byte, 64)
	for range 10 {
		_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
		if _, err := conn.Write([]byte("who")); err != nil {
			continue // the kernel tells of an earlier refusal
		}
		if n, err := conn.Read(buffer); err == nil {
			return string(buffer[:n])
		}
	}
	return ""
}
