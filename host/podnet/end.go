package podnet

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// end is the host's end of a pod's connection, and what belongs to the pod behind it.
type end struct {
	pod       node.Key
	uid       types.UID
	link      string // the interface on the bridge
	index     int    // of that interface
	card      net.HardwareAddr
	addresses []netip.Addr
}

// readEnd reads a record as the end of a pod, without the index of its interface. It is false for a record that is not
// of the node's network, or is not whole.
func (p Places) readEnd(file string) (sandbox string, e end, ok bool) {
	r, ours := p.readRecord(file)
	if !ours || r.Network != p.bridge() {
		return "", end{}, false
	}
	var result struct {
		Interfaces []struct{ Name, Mac, Sandbox string }
		IPs        []struct{ Address netip.Prefix }
	}
	if json.Unmarshal(r.Result, &result) != nil {
		return "", end{}, false
	}
	e = end{
		pod: node.Key{Namespace: r.argument("K8S_POD_NAMESPACE"), Name: r.argument("K8S_POD_NAME")},
		uid: types.UID(r.argument("K8S_POD_UID")),
	}
	for _, i := range result.Interfaces {
		switch {
		case i.Sandbox != "":
			e.card, _ = net.ParseMAC(i.Mac) // checked below
		case i.Name != p.bridge():
			e.link = i.Name
		}
	}
	for _, ip := range result.IPs {
		e.addresses = append(e.addresses, ip.Address.Addr())
	}
	return r.ContainerID, e, e.link != "" && len(e.card) == cardSize && len(e.addresses) > 0
}

const cardSize = 6 // bytes of a hardware address

// linkLocal is the address of IPv6 that a pod gives itself.
func (e end) linkLocal() netip.Addr {
	c := e.card
	return netip.AddrFrom16([16]byte{
		0: 0xfe, 1: 0x80, 8: c[0] ^ 2, 9: c[1], 10: c[2], 11: 0xff, 12: 0xfe, 13: c[3], 14: c[4], 15: c[5],
	})
}

// links lists the interfaces of the machine by name.
func links() (map[string]net.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the machine's interfaces: %w", err)
	}
	named := make(map[string]net.Interface, len(all))
	for _, l := range all {
		named[l.Name] = l
	}
	return named, nil
}

// readEnds reads the ends of connected pods, by sandbox. The pattern is that of their records.
func (n *Network) readEnds(pattern string, present map[string]net.Interface) (map[string]end, error) {
	files, err := filepath.Glob(filepath.Join(n.cache, "results", pattern))
	if err != nil {
		return nil, fmt.Errorf("look for connected pods: %w", err)
	}
	ends := map[string]end{}
	for _, file := range files {
		if sandbox, e, ok := n.places.readEnd(file); ok && present[e.link].Index > 0 { // 0 is of a pod that is gone
			e.index = present[e.link].Index
			ends[sandbox] = e
		}
	}
	return ends, nil
}
