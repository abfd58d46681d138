package address

import (
	"net/netip"
	"slices"
)

// Found is an address of one of the machine's interfaces.
type Found struct {
	IP        netip.Addr
	Interface string
	Loopback  bool // the interface is the loopback one
	Bridge    bool // the interface is a bridge
	Routes    bool // the default route of the address' family leaves by the interface
}

// Facts describe the machine.
type Facts struct {
	Found []Found      // addresses of interfaces that are up, in the order of the interfaces
	Kept  []netip.Addr // that the node had at its last start
	Named []netip.Addr // that the node's name resolves to
}

// NeedsName reports whether Choose depends on the addresses that the node's name resolves to.
func NeedsName(configured []netip.Addr, f Facts) bool {
	family, fixed := wanted(configured)
	if fixed {
		return false
	}
	_, ok := f.kept(family)
	return !ok
}

// Choose returns the addresses of the node, the primary one first. The configured ones may be none, the node's own
// addresses, or 0.0.0.0 or :: for an address of that family. Without them the node also gets an address of the other
// family, if the machine has one.
func Choose(configured []netip.Addr, f Facts) []netip.Addr {
	first, fixed := wanted(configured)
	if fixed {
		return configured
	}
	primary, ok := f.choose(first)
	if !ok {
		primary, ok = f.choose(!first)
	}
	if !ok {
		return []netip.Addr{loopback(first)}
	}
	if len(configured) > 0 {
		return []netip.Addr{primary}
	}
	second, ok := f.beside(primary)
	if !ok {
		return []netip.Addr{primary}
	}
	return []netip.Addr{primary, second}
}

// family is true for IPv6.
type family bool

const (
	v4 family = false
	v6 family = true
)

func (w family) has(ip netip.Addr) bool { return ip.Is6() == bool(w) }

// wanted returns the family that is tried first. It reports true if the configured addresses leave nothing to choose.
func wanted(configured []netip.Addr) (first family, fixed bool) {
	switch {
	case len(configured) == 0:
		return v4, false
	case configured[0].IsUnspecified():
		return family(configured[0].Is6()), false
	}
	return v4, true
}

// loopback returns the address of a node without a network. It still runs pods.
func loopback(w family) netip.Addr {
	if w == v6 {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// choose returns the first address of a family that one of the steps finds.
func (f Facts) choose(w family) (netip.Addr, bool) {
	for _, step := range []func(family) (netip.Addr, bool){f.kept, f.named, f.routed, f.any} {
		if ip, ok := step(w); ok {
			return ip, true
		}
	}
	return netip.Addr{}, false
}

// kept returns the address of the last start, if the machine has it still and pods have not made its interface.
func (f Facts) kept(w family) (netip.Addr, bool) {
	return f.among(f.Kept, w, func(a Found) bool { return !a.Bridge || a.Routes })
}

func (f Facts) named(w family) (netip.Addr, bool) {
	return f.among(f.Named, w, func(Found) bool { return true })
}

// routed returns the address of the interface by which the default route leaves. That interface may have none of its own
// and use one of the loopback interface.
func (f Facts) routed(w family) (netip.Addr, bool) {
	if ip, ok := f.first(w, func(a Found) bool { return a.Routes }); ok {
		return ip, true
	}
	return f.first(w, func(a Found) bool { return a.Loopback })
}

func (f Facts) any(w family) (netip.Addr, bool) {
	return f.first(w, func(a Found) bool { return !a.Bridge && !a.Loopback })
}

// beside returns an address of the other family: that of the last start, or else one of the primary address' interface,
// or else that of its own default route.
func (f Facts) beside(primary netip.Addr) (netip.Addr, bool) {
	other := family(!primary.Is6())
	if ip, ok := f.kept(other); ok {
		return ip, true
	}
	at := slices.IndexFunc(f.Found, func(a Found) bool { return a.IP == primary })
	if at >= 0 {
		if ip, ok := f.first(other, func(a Found) bool { return a.Interface == f.Found[at].Interface }); ok {
			return ip, true
		}
	}
	return f.first(other, func(a Found) bool { return a.Routes })
}

// among returns the first of some addresses that an interface has and that fits.
func (f Facts) among(ips []netip.Addr, w family, fits func(Found) bool) (netip.Addr, bool) {
	for _, ip := range ips {
		if found, ok := f.first(w, func(a Found) bool { return a.IP == ip && fits(a) }); ok {
			return found, true
		}
	}
	return netip.Addr{}, false
}

// first returns the first global address of a family that fits.
func (f Facts) first(w family, fits func(Found) bool) (netip.Addr, bool) {
	for _, a := range f.Found {
		if w.has(a.IP) && a.IP.IsGlobalUnicast() && fits(a) {
			return a.IP, true
		}
	}
	return netip.Addr{}, false
}
