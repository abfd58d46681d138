package podnet

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
)

// chooseSubnets takes the wanted subnets, else those of an earlier start, else free ones by the node's name. Without
// IPv6 on the host it takes none of that family: the bridge plugin would connect no pod.
func (p Places) chooseSubnets(wanted, kept []netip.Prefix, six bool) ([]netip.Prefix, error) {
	if err := possible(wanted, six); err != nil {
		return nil, err
	}
	if len(wanted) > 0 {
		return wanted, nil
	}
	if !six {
		kept = slices.DeleteFunc(slices.Clone(kept), func(s netip.Prefix) bool { return s.Addr().Is6() })
	}
	if len(kept) > 0 {
		return kept, nil
	}
	taken, err := hostRoutes(p.bridge())
	if err != nil {
		return nil, err
	}
	four, err := subnet4(p.ID, taken)
	if err != nil {
		return nil, err
	}
	subnets := []netip.Prefix{four}
	if local := subnet6(p.ID); six && !overlapsAny(local, taken) {
		subnets = append(subnets, local)
	}
	return subnets, nil
}

// possible fails for subnets of IPv6 on a host without it.
func possible(wanted []netip.Prefix, six bool) error {
	if !six && slices.ContainsFunc(wanted, func(s netip.Prefix) bool { return s.Addr().Is6() }) {
		return fmt.Errorf("choose addresses for pods: %v are asked for, and IPv6 is switched off on this host", wanted)
	}
	return nil
}

// changeSubnets removes the bridge if its subnets change: the plugin gives a bridge no second address of a family.
// It refuses while pods are connected.
func (p Places) changeSubnets(from, to []netip.Prefix) error {
	if !moved(from, to) {
		return nil
	}
	pods, err := p.connected()
	if err != nil {
		return err
	}
	if pods > 0 {
		return fmt.Errorf("change the addresses of pods from %v to %v: %d are connected: end them first", from, to, pods)
	}
	return removeBridge(p.bridge())
}

// connected counts the pods on the bridge.
func (p Places) connected() (int, error) {
	pods, err := os.ReadDir(filepath.Join("/sys/class/net", p.bridge(), "brif"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("count the pods on the network: %w", err)
	}
	return len(pods), nil
}

// moved reports whether a family gets another subnet.
func moved(from, to []netip.Prefix) bool {
	return slices.ContainsFunc(from, func(f netip.Prefix) bool {
		return slices.ContainsFunc(to, func(t netip.Prefix) bool {
			return t != f && t.Addr().Is6() == f.Addr().Is6()
		})
	})
}

// subnet4 picks a /24 of 10.89.0.0-10.95.255.255 by the node's name, and goes on to the next that no route of the host
// overlaps. 10.88.0.0/16 before it is podman's.
func subnet4(id string, taken []netip.Prefix) (netip.Prefix, error) {
	const first, count = 10<<24 | 89<<16, 7 << 8
	sum := sha256.Sum256([]byte(id))
	at := binary.BigEndian.Uint32(sum[:4]) % count
	for i := range uint32(count) {
		var addr [4]byte
		binary.BigEndian.PutUint32(addr[:], first+(at+i)%count<<8)
		subnet := netip.PrefixFrom(netip.AddrFrom4(addr), 24)
		if !overlapsAny(subnet, taken) {
			return subnet, nil
		}
	}
	return netip.Prefix{}, errors.New("choose addresses for pods: routes of the host cover all of " +
		"10.89.0.0-10.95.255.255: give a subnet with --pod-cidr")
}

// subnet6 is a unique local /64. Its 40 random bits come from the node's name.
func subnet6(id string) netip.Prefix {
	sum := sha256.Sum256([]byte(id))
	addr := [16]byte{0xfd}
	copy(addr[1:6], sum[:5])
	return netip.PrefixFrom(netip.AddrFrom16(addr), 64)
}

func overlapsAny(p netip.Prefix, taken []netip.Prefix) bool {
	return slices.ContainsFunc(taken, p.Overlaps)
}
