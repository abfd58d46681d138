package podnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nodal/host/podnet/nft"
)

// wire is a pod's side of a connection: frames are sent and received there as they are.
type wire struct {
	end
	socket int
}

// cable connects a pod to the bridge, as the plugins do. Its side stays in this network and has no addresses.
func cable(n *Network, number int) (wire, error) {
	w := wire{end: end{
		link: fmt.Sprint("veth", number), card: net.HardwareAddr{2, 0, 0, 0, 0, byte(number)},
		addresses: addresses(fmt.Sprint("10.95.255.", number), fmt.Sprint("fd01:2::", number)),
	}}
	inside := fmt.Sprint("pod", number)
	bridge := n.places.bridge()
	if err := run(
		"ip link add "+w.link+" type veth peer name "+inside+" address "+w.card.String(),
		"ip link set "+w.link+" master "+bridge+" up", "ip link set "+inside+" up",
	); err != nil {
		return wire{}, err
	}
	link, err := net.InterfaceByName(inside)
	if err != nil {
		return wire{}, err
	}
	all := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL))
	w.socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(all))
	if err == nil {
		err = unix.Bind(w.socket, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Index})
	}
	if err == nil {
		err = unix.SetsockoptTimeval(w.socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 20_000})
	}
	return w, err
}

func run(commands ...string) error {
	for _, c := range commands {
		words := strings.Fields(c)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", c, err, out)
		}
	}
	return nil
}

// record writes what the CNI library notes of a pod's connection.
func (n *Network) record(w wire) error {
	dir := filepath.Join(n.cache, "results")
	text := fmt.Sprintf(`{"containerId": "box-%[1]s", "cniArgs": [["K8S_POD_UID", "%[1]s"], ["K8S_POD_NAMESPACE", %[6]q]], "networkName": %[2]q, "ifName": "eth0", "result": {"interfaces": [
		{"name": %[2]q}, {"name": %[1]q}, {"name": "eth0", "mac": %[3]q, "sandbox": "/run/some"}], "ips": [
		{"address": "%[4]s/24"}, {"address": "%[5]s/64"}]}}`,
		w.link, n.places.bridge(), w.card, w.addresses[0], w.addresses[1], namespaceOf(w))
	return errors.Join(os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, n.places.bridge()+"-box-"+w.link+"-eth0"), []byte(text), 0o600))
}

// namespaceOf returns the namespace of a pod: one has another than the rest.
func namespaceOf(w wire) string {
	return map[string]string{"veth4": "other"}[w.link]
}

// payload marks the frames of the test.
const payload = "spoofed?"

func frame(from, to net.HardwareAddr, kind uint16, body []byte) []byte {
	out := append(append([]byte{}, to...), from...)
	return append(binary.BigEndian.AppendUint16(out, kind), body...)
}

// udp4 is a datagram of IPv4.
func udp4(from, to netip.Addr) []byte {
	datagram := append([]byte{0x10, 0, 0x20, 0, 0, byte(8 + len(payload)), 0, 0}, payload...)
	head := []byte{0x45, 0, 0, byte(20 + len(datagram)), 0, 0, 0, 0, 64, 17, 0, 0}
	head = append(append(head, from.AsSlice()...), to.AsSlice()...)
	binary.BigEndian.PutUint16(head[10:], checksum(head))
	return append(head, datagram...)
}

func checksum(data []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(data); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(data[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

func ip6(from, to netip.Addr, next byte, body []byte) []byte {
	head := append([]byte{0x60, 0, 0, 0, 0, byte(len(body)), next, 255}, from.AsSlice()...)
	return append(append(head, to.AsSlice()...), body...)
}

// message is one of ICMPv6, about an address.
func message(kind byte, about netip.Addr) []byte {
	return append(append([]byte{kind, 0, 0, 0, 0, 0, 0, 0}, about.AsSlice()...), payload...)
}

func arp(operation byte, card net.HardwareAddr, ip, about netip.Addr) []byte {
	body := append([]byte{0, 1, 8, 0, 6, 4, 0, operation}, card...)
	body = append(append(body, ip.AsSlice()...), make([]byte, 6)...)
	return append(append(body, about.AsSlice()...), payload...)
}

// reaches reports whether a frame that one pod sends reaches another.
func (w wire) reaches(other wire, frame []byte) (bool, error) {
	if _, err := unix.Write(w.socket, frame); err != nil {
		return false, err
	}
	buffer := make([]byte, 2048)
	for until := time.Now().Add(60 * time.Millisecond); time.Now().Before(until); {
		read, err := unix.Read(other.socket, buffer)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, err
		}
		if string(buffer[:read]) == string(frame) {
			return true, nil
		}
	}
	return false, nil
}

func TestPodsSendFromTheirOwnAddressesOnly(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a network")
	}
	n := newKept(t)
	n.cache = t.TempDir()
	if err := inOwnNetwork(func() error {
		a, b, err := twoPods(n)
		if err != nil {
			return err
		}
		card, four, six := a.card, a.addresses[0], a.addresses[1]
		world, world6 := netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("2001:db8::1")
		everyone := net.HardwareAddr{255, 255, 255, 255, 255, 255}
		own4 := frame(card, b.card, nft.FrameIP4, udp4(four, b.addresses[0]))
		if reached, err := a.reaches(b, own4); err != nil || reached {
			t.Errorf("a pod that is not connected yet reaches another: %t (%v)", reached, err)
		}
		if err := errors.Join(n.Connect("box-"+a.link), n.Connect("box-"+b.link)); err != nil {
			return err
		}
		for _, c := range []struct {
			name  string
			frame []byte
			want  bool
		}{
			{"its own address of IPv4", own4, true},
			{"another pod's", frame(card, b.card, nft.FrameIP4, udp4(b.addresses[0], b.addresses[0])), false},
			{"one of the world", frame(card, b.card, nft.FrameIP4, udp4(world, b.addresses[0])), false},
			{"its own from another card", frame(b.card, b.card, nft.FrameIP4, udp4(four, b.addresses[0])), false},
			{"behind a tag that the kernel takes off",
				frame(card, b.card, 0x8100, append([]byte{0, 0, 8, 0}, udp4(world, b.addresses[0])...)), false},
			{"its own address of IPv6", frame(card, b.card, nft.FrameIP6, ip6(six, b.addresses[1], 59, []byte(payload))), true},
			{"the one that it gives itself",
				frame(card, b.card, nft.FrameIP6, ip6(a.linkLocal(), b.linkLocal(), 59, []byte(payload))), true},
			{"another pod's of IPv6", frame(card, b.card, nft.FrameIP6, ip6(b.addresses[1], b.addresses[1], 59, nil)), false},
			{"one that another gives itself", frame(card, b.card, nft.FrameIP6, ip6(b.linkLocal(), six, 59, nil)), false},
			{"one of the world of IPv6", frame(card, b.card, nft.FrameIP6, ip6(world6, b.addresses[1], 59, nil)), false},
			{"none, with UDP", frame(card, b.card, nft.FrameIP6, ip6(netip.IPv6Unspecified(), b.addresses[1], 17, udp4(four, four)[20:])), false},
			{"none, to ask whether an address is taken",
				frame(card, everyone, nft.FrameIP6, ip6(netip.IPv6Unspecified(), b.addresses[1], 58, message(135, six))), true},
			{"ARP about itself", frame(card, everyone, nft.FrameARP, arp(1, card, four, b.addresses[0])), true},
			{"ARP for another", frame(card, b.card, nft.FrameARP, arp(2, card, netip.MustParseAddr("10.95.255.1"), b.addresses[0])), false},
			{"ARP for another, in its name", frame(b.card, b.card, nft.FrameARP, arp(2, b.card, b.addresses[0], four)), false},
			{"ARP that leads elsewhere", frame(card, b.card, nft.FrameARP, arp(2, everyone, four, b.addresses[0])), false},
			{"an advertisement of itself", frame(card, b.card, nft.FrameIP6, ip6(six, b.addresses[1], 58, message(136, six))), true},
			{"an advertisement of another",
				frame(card, b.card, nft.FrameIP6, ip6(six, b.addresses[1], 58, message(136, netip.MustParseAddr("fd01:2::1")))), false},
			{"one behind another header", frame(card, b.card, nft.FrameIP6,
				ip6(six, b.addresses[1], 60, append([]byte{58, 0, 1, 4, 0, 0, 0, 0}, message(136, b.addresses[1])...))), false},
			{"the word of a router", frame(card, b.card, nft.FrameIP6, ip6(a.linkLocal(), b.addresses[1], 58, message(134, six))), false},
			{"a redirect", frame(card, b.card, nft.FrameIP6, ip6(a.linkLocal(), b.addresses[1], 58, message(137, six))), false},
			{"another protocol", frame(card, b.card, 0x88b5, []byte(payload)), false},
		} {
			reached, err := a.reaches(b, c.frame)
			if err != nil {
				return err
			}
			if reached != c.want {
				t.Errorf("%s: arrives: %t, want %t", c.name, reached, c.want)
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// twoPods connects two pods to a network, which does not let them onto it.
func twoPods(n *Network) (a, b wire, err error) {
	if err := run("ip link add "+n.places.bridge()+" type bridge",
		"ip link set "+n.places.bridge()+" up", "ip link set lo up"); err != nil {
		return a, b, err
	}
	n.setUpGuard()
	if fault := n.Fault(); fault != "" {
		return a, b, errors.New(fault)
	}
	a, err = cable(n, 2)
	b, err2 := cable(n, 3)
	return a, b, errors.Join(err, err2, n.record(a), n.record(b))
}
