package machine

import (
	"net"
	"net/netip"
)

// Addresses returns the first global address of each family that the machine's interfaces have. It does not ask
// DNS: a name that does not resolve would hold up every pod.
func Addresses() []string {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var all []netip.Addr
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				all = append(all, prefix.Addr())
			}
		}
	}
	return firstOfEach(all)
}

// firstOfEach returns the first global address of each family, IPv4 first. A machine without a network has the
// loopback address: it still runs pods.
func firstOfEach(all []netip.Addr) []string {
	var v4, v6 string
	for _, a := range all {
		switch {
		case !a.IsGlobalUnicast():
		case a.Is4() && v4 == "":
			v4 = a.String()
		case a.Is6() && v6 == "":
			v6 = a.String()
		}
	}
	var found []string
	for _, ip := range []string{v4, v6} {
		if ip != "" {
			found = append(found, ip)
		}
	}
	if len(found) == 0 {
		return []string{"127.0.0.1"}
	}
	return found
}
