package machine

import (
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"

	"nodal/node/address"
)

// Addresses returns the addresses of the interfaces that are up. What the kernel tells in files it reads below root.
func Addresses(root fs.FS) ([]address.Found, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the machine's interfaces: %w", err)
	}
	v4, v6 := defaultRoutes(root)
	var all []address.Found
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		ips, err := i.Addrs()
		if err != nil { // it has gone meanwhile
			continue
		}
		for _, ip := range ips {
			prefix, err := netip.ParsePrefix(ip.String())
			if err != nil {
				continue
			}
			leaves := v4
			if prefix.Addr().Is6() {
				leaves = v6
			}
			all = append(all, address.Found{
				IP: prefix.Addr(), Interface: i.Name, Loopback: i.Flags&net.FlagLoopback != 0,
				Bridge: isBridge(root, i.Name), Routes: i.Name == leaves,
			})
		}
	}
	return all, nil
}

func isBridge(root fs.FS, name string) bool {
	_, err := fs.Stat(root, path.Join("sys/class/net", name, "bridge"))
	return err == nil
}

// resolveTimeout bounds the search for the node's name. /etc/hosts answers at once, and a DNS server that does not answer
// must not hold up the pods of the machine.
const resolveTimeout = time.Second

// Resolve returns the addresses of a name; none if it has none.
func Resolve(ctx context.Context, name string) []netip.Addr {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil
	}
	for i, ip := range ips {
		ips[i] = ip.Unmap()
	}
	return ips
}

// defaultRoutes returns the interfaces by which the default routes leave, those with the least metric. Each is empty if
// there is no such route.
func defaultRoutes(root fs.FS) (v4, v6 string) {
	return leastMetric(root, "proc/net/route", defaultRoute4), leastMetric(root, "proc/net/ipv6_route", defaultRoute6)
}

// leastMetric returns the interface of the best of the lines that are default routes.
func leastMetric(root fs.FS, file string, read func(fields []string) (name string, metric uint64, ok bool)) string {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return "" // the kernel does not know the family
	}
	best, least := "", uint64(math.MaxUint64)
	for line := range strings.Lines(string(text)) {
		if name, metric, ok := read(strings.Fields(line)); ok && metric < least {
			best, least = name, metric
		}
	}
	return best
}

// Flags of routes, from the kernel's route.h.
const (
	routeUp     = 0x1
	routeReject = 0x200
)

// defaultRoute4 reads a line of /proc/net/route: Iface, Destination, Gateway, Flags, RefCnt, Use, Metric, Mask.
func defaultRoute4(fields []string) (name string, metric uint64, ok bool) {
	if len(fields) < 8 || fields[1] != "00000000" || fields[7] != "00000000" {
		return "", 0, false
	}
	metric, err := strconv.ParseUint(fields[6], 10, 32)
	return fields[0], metric, err == nil && goesOut(fields[3])
}

// defaultRoute6 reads a line of /proc/net/ipv6_route: destination and its length, source and its length, next hop, metric,
// reference count, use, flags, interface. All numbers are hexadecimal.
func defaultRoute6(fields []string) (name string, metric uint64, ok bool) {
	if len(fields) < 10 || !isZero(fields[0]) || fields[1] != "00" || fields[9] == "lo" {
		return "", 0, false
	}
	metric, err := strconv.ParseUint(fields[5], 16, 32)
	return fields[9], metric, err == nil && goesOut(fields[8])
}

func goesOut(flags string) bool {
	bits, err := strconv.ParseUint(flags, 16, 32)
	return err == nil && bits&routeUp != 0 && bits&routeReject == 0
}

func isZero(text string) bool {
	bytes, err := hex.DecodeString(text)
	for _, b := range bytes {
		if b != 0 {
			return false
		}
	}
	return err == nil
}
