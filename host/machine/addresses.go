package machine

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"path"
	"time"

	"nodal/node/address"
)

// Addresses returns the addresses of the interfaces that are up. What the kernel tells in files it reads below root.
func Addresses(root fs.FS) ([]address.Found, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the machine's interfaces: %w", err)
	}
	v4 := address.DefaultLink4(textOf(root, "proc/net/route"))
	v6 := address.DefaultLink6(textOf(root, "proc/net/ipv6_route"))
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

// textOf returns the text of a file; none if the kernel does not have it.
func textOf(root fs.FS, file string) string {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return ""
	}
	return string(text)
}
