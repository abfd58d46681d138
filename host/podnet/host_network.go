package podnet

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nodal/node/address"
)

const procNet = "/proc/sys/net"

// hostRoutes lists the host's routes, but for default routes and those over the node's own bridge.
func hostRoutes(bridge string) ([]netip.Prefix, error) {
	four, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return nil, fmt.Errorf("read the host's routes: %w", err)
	}
	six, err := os.ReadFile("/proc/net/ipv6_route")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the host's routes: %w", err)
	}
	return append(routes4(string(four), bridge), routes6(string(six), bridge)...), nil
}

// routes4 reads /proc/net/route. Its words are in the machine's byte order: little endian on every platform that the
// node runs on.
func routes4(table, bridge string) []netip.Prefix {
	var routes []netip.Prefix
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 8 || f[0] == bridge {
			continue
		}
		dst, err := strconv.ParseUint(f[1], 16, 32)
		mask, err2 := strconv.ParseUint(f[7], 16, 32)
		if errors.Join(err, err2) != nil || mask == 0 {
			continue // the head line, or the default route
		}
		addr := netip.AddrFrom4([4]byte{byte(dst), byte(dst >> 8), byte(dst >> 16), byte(dst >> 24)})
		routes = append(routes, netip.PrefixFrom(addr, bits.OnesCount32(uint32(mask))))
	}
	return routes
}

// routes6 reads /proc/net/ipv6_route.
func routes6(table, bridge string) []netip.Prefix {
	var routes []netip.Prefix
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 10 || f[9] == bridge {
			continue
		}
		raw, err := hex.DecodeString(f[0])
		length, err2 := strconv.ParseUint(f[1], 16, 8)
		addr, ok := netip.AddrFromSlice(raw)
		if errors.Join(err, err2) != nil || !ok || length == 0 || length > 128 {
			continue
		}
		routes = append(routes, netip.PrefixFrom(addr, int(length)))
	}
	return routes
}

// hostMTU is the largest packet that leaves by the default route; 0 without one.
func hostMTU() int {
	table, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return 0
	}
	link, err := net.InterfaceByName(address.DefaultLink4(string(table)))
	if err != nil {
		return 0
	}
	return link.MTU
}

// bridgeSubnets are the subnets of a bridge's addresses; none if it is not there.
func bridgeSubnets(bridge string) (subnets []netip.Prefix) {
	link, err := net.InterfaceByName(bridge)
	if err != nil {
		return nil
	}
	addrs, _ := link.Addrs() // without them, the description of the network tells
	for _, a := range addrs {
		if s, err := netip.ParsePrefix(a.String()); err == nil && !s.Addr().IsLinkLocalUnicast() {
			subnets = append(subnets, s.Masked())
		}
	}
	return subnets
}

// hasIPv6 reports whether new interfaces of the host get IPv6 addresses.
func hasIPv6() bool {
	for _, scope := range []string{"all", "default"} {
		raw, err := os.ReadFile(filepath.Join(procNet, "ipv6/conf", scope, "disable_ipv6"))
		if err != nil || strings.TrimSpace(string(raw)) != "0" {
			return false
		}
	}
	return true
}

const (
	forwarding4 = "ipv4/ip_forward"
	forwarding6 = "ipv6/conf/all/forwarding"
)

// forward makes the host route between pods and the world.
func forward(six bool) error {
	if err := setSysctl(forwarding4, "1"); err != nil {
		return err
	}
	if !six {
		return nil
	}
	// An IPv6 router ignores the announcements of other routers, so the host would lose its own address. With
	// accept_ra=2 it listens all the same.
	paths, err := filepath.Glob(filepath.Join(procNet, "ipv6/conf/*/accept_ra"))
	if err != nil {
		return fmt.Errorf("list the host's interfaces: %w", err)
	}
	for _, path := range paths {
		name := strings.TrimPrefix(path, procNet+"/")
		if slices.Contains([]string{"all", "lo"}, filepath.Base(filepath.Dir(path))) || sysctl(name) != "1" {
			continue
		}
		if err := setSysctl(name, "2"); err != nil {
			return err
		}
	}
	return setSysctl(forwarding6, "1")
}

func sysctl(name string) string {
	raw, err := os.ReadFile(filepath.Join(procNet, name))
	if err != nil {
		return "" // the interface is gone
	}
	return strings.TrimSpace(string(raw))
}

// setSysctl writes a setting that differs. A machine with a read-only /proc/sys may have been set up by its owner.
func setSysctl(name, value string) error {
	if sysctl(name) == value {
		return nil
	}
	err := os.WriteFile(filepath.Join(procNet, name), []byte(value), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("set net/%s to %s: %w", name, value, err)
	}
	return nil
}
