package noderuntime

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/podnet"
	"nodal/host/runtime"
	"nodal/host/thread"
)

// Pods keep NET_RAW, so they can send what they like. The plugins have made these, and containerd's records tell whose
// addresses are whose.
func TestARawSocketDoesNotMakeAnotherPod(t *testing.T) {
	n := newNode(t)
	r := n.start()
	n.wantEvent(runtime.Started)
	mallory, _ := n.pod("mallory")
	alice, _ := n.pod("alice")
	n.pod("bob")
	n.wantHeld(mallory, alice)

	// The guard outlives the agent, and the next agent knows the pods.
	must(t, r.Close())
	n.wantHeld(mallory, alice)
	next := n.start()
	defer next.Close()
	n.wantEvent(runtime.Adopted)
	n.wantHeld(mallory, alice)

	conn, err := nftables.New()
	must(t, err)
	conn.DelTable(&nftables.Table{Name: "nodal-" + runtime.ID(n.config.RootDir), Family: nftables.TableFamilyBridge})
	must(t, conn.Flush())
	if got := n.hears(mallory, alice, "8.8.8.8"); got != "8.8.8.8" {
		t.Errorf("without a guard a pod is heard as %q: the test shows nothing", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- next.Run(ctx) }()
	n.wantEvent(podnet.Repaired)
	n.wantHeld(mallory, alice)
	cancel()
	must(t, <-done)
}

// wantHeld checks that one pod is heard by another under its own addresses, and under no others.
func (n *node) wantHeld(from, to string) {
	n.t.Helper()
	for _, source := range []string{n.address(from), n.neighbor(), "8.8.8.8"} {
		want := ""
		if source == n.address(from) {
			want = source
		}
		if got := n.hears(from, to, source); got != want {
			n.t.Errorf("%s sends as %s: heard as %q, want %q", n.address(from), source, got, want)
		}
	}
}

// neighbor is an address of the network that is neither the gateway's nor one of the first two pods'.
func (n *node) neighbor() string {
	return n.network.Subnets()[0].Masked().Addr().Next().Next().Next().Next().String()
}

// hears has a pod send a packet with a source that it chooses, and returns the source that another pod sees; "" if
// none comes.
func (n *node) hears(from, to, source string) string {
	n.t.Helper()
	const port = 4242
	var ear *net.UDPConn
	must(n.t, inNamespace(n.namespace(to), func() (err error) {
		ear, err = net.ListenUDP("udp4", &net.UDPAddr{Port: port})
		return err
	}))
	defer ear.Close()
	dest := netip.MustParseAddr(n.address(to))
	must(n.t, inNamespace(n.namespace(from), func() error {
		return sendAs(netip.MustParseAddr(source), dest, port)
	}))
	must(n.t, ear.SetReadDeadline(time.Now().Add(time.Second)))
	_, seen, err := ear.ReadFromUDPAddrPort(make([]byte, 16))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ""
	}
	must(n.t, err)
	return seen.Addr().String()
}

// sendAs sends a datagram with a header of the caller's own.
func sendAs(source, dest netip.Addr, port uint16) error {
	raw, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return fmt.Errorf("make a raw socket: %w", err)
	}
	defer unix.Close(raw)
	packet := append([]byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, unix.IPPROTO_UDP, 0, 0}, source.AsSlice()...)
	packet = append(packet, dest.AsSlice()...)
	packet = binary.BigEndian.AppendUint16(packet, port)
	packet = binary.BigEndian.AppendUint16(packet, port)
	packet = append(packet, 0, 10, 0, 0, 'h', 'i') // the kernel fills in the length and the checksum of the header
	return unix.Sendto(raw, packet, 0, &unix.SockaddrInet4{Addr: dest.As4()})
}

// inNamespace runs a function in a network namespace.
func inNamespace(path string, do func() error) error {
	return thread.Own(func() error {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = errors.Join(unix.Setns(fd, unix.CLONE_NEWNET), unix.Close(fd))
		}
		if err == nil {
			err = do()
		}
		return err
	})
}

func TestPodsReachTheKubeletUnlessItsOwnerDoesNotWantIt(t *testing.T) {
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	must(t, err)
	defer listener.Close()
	port := uint16(listener.Addr().(*net.TCPAddr).Port)
	for _, closed := range [][]uint16{nil, {port}} {
		n := newNode(t)
		n.network = podnet.New(podnet.Config{Places: podnet.Places(n.config.Places()), Closed: closed})
		n.config.Network = n.network
		r := n.start()
		n.wantEvent(runtime.Started)
		pod, _ := n.pod("curious")
		gateway := netip.AddrPortFrom(n.network.Subnets()[0].Masked().Addr().Next(), port).String()
		err := inNamespace(n.namespace(pod), func() error {
			conn, err := net.DialTimeout("tcp4", gateway, 5*time.Second)
			return errors.Join(err, closeOf(conn))
		})
		if len(closed) == 0 && err != nil || len(closed) > 0 && !errors.Is(err, unix.ECONNREFUSED) {
			t.Errorf("with %v closed: got error %v", closed, err)
		}
		must(t, r.Close())
	}
}

func closeOf(conn net.Conn) error {
	if conn == nil {
		return nil
	}
	return conn.Close()
}

func TestAPodReachesItselfByItsHostPort(t *testing.T) {
	n := newNode(t)
	r := n.start()
	defer r.Close()
	port := freePort(t)
	pod, _ := n.pod("narcissus", &runtimeapi.PortMapping{ContainerPort: 8080, HostPort: port})
	get(t, "http://"+n.address(pod)+":8080/index.html") // it listens
	gateway := n.network.Subnets()[0].Masked().Addr().Next()
	must(t, inNamespace(n.namespace(pod), func() error {
		conn, err := net.DialTimeout("tcp4", fmt.Sprintf("%s:%d", gateway, port), 5*time.Second)
		return errors.Join(err, closeOf(conn))
	}))
}
