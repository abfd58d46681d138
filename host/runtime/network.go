package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
)

// Network is how the node's pods are connected.
type Network struct {
	Bridge  string
	Subnets []netip.Prefix // of the pods, one for each family
}

// chooseSubnets takes the ones that are asked for, else the ones of an earlier
// start, which pods may be using, else free ones by the node's name.
func (l layout) chooseSubnets(wanted []netip.Prefix) ([]netip.Prefix, error) {
	if len(wanted) > 0 {
		return wanted, nil
	}
	if raw, err := os.ReadFile(l.conflist()); err == nil {
		if kept := readSubnets(raw); len(kept) > 0 {
			return kept, nil
		}
	}
	taken, err := hostRoutes(l.bridge())
	if err != nil {
		return nil, err
	}
	four, err := subnet4(l.id, taken)
	if err != nil {
		return nil, err
	}
	subnets := []netip.Prefix{four}
	if six := subnet6(l.id); hasIPv6() && !overlapsAny(six, taken) {
		subnets = append(subnets, six)
	}
	return subnets, nil
}

// subnet4 picks one of the /24 of 10.88.0.0/13 but for its first /16, which is
// podman's, and goes on from there to the next that no route of the host meets.
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
	return netip.Prefix{}, errors.New("choose addresses for pods: routes of the host cover all of 10.89.0.0-10.95.255.255: give a pod CIDR")
}

// subnet6 is a unique local /64: the name gives the 40 bits that are to be random.
func subnet6(id string) netip.Prefix {
	sum := sha256.Sum256([]byte(id))
	addr := [16]byte{0xfd}
	copy(addr[1:6], sum[:5])
	return netip.PrefixFrom(netip.AddrFrom16(addr), 64)
}

func overlapsAny(p netip.Prefix, taken []netip.Prefix) bool {
	return slices.ContainsFunc(taken, p.Overlaps)
}

// conflist is the network as the CNI library reads it.
type conflist struct {
	Version string `json:"cniVersion"`
	Name    string `json:"name"`
	Plugins []any  `json:"plugins"`
}

type bridgePlugin struct {
	Type      string `json:"type"`
	Bridge    string `json:"bridge"`
	IsGateway bool   `json:"isGateway"`
	IPMasq    bool   `json:"ipMasq"`
	Hairpin   bool   `json:"hairpinMode"`
	MTU       int    `json:"mtu,omitempty"`
	IPAM      ipam   `json:"ipam"`
}

type ipam struct {
	Type    string         `json:"type"`
	DataDir string         `json:"dataDir"`
	Ranges  [][]ipamSubnet `json:"ranges"`
	Routes  []ipamRoute    `json:"routes"`
}

type ipamSubnet struct {
	Subnet netip.Prefix `json:"subnet"`
}

type ipamRoute struct {
	Dst string `json:"dst"`
}

type portmapPlugin struct {
	Type         string          `json:"type"`
	Capabilities map[string]bool `json:"capabilities"`
	SNAT         bool            `json:"snat"`
	Backend      string          `json:"backend"`
}

const (
	byIptables = "iptables"
	byNftables = "nftables"
)

// portBackend is what the portmap plugin is to open host ports with. Without a word it
// runs iptables twice for each pod to find out, and for pods without ports too. What an
// earlier start chose is kept while it is there: pods' ports may be open by it.
func (l layout) portBackend(ctx context.Context) string {
	dirs := newHostDirs().programs
	iptables := findProgram("iptables", dirs)
	if raw, err := os.ReadFile(l.conflist()); err == nil {
		switch readPortBackend(raw) {
		case byIptables:
			if iptables != "" {
				return byIptables
			}
		case byNftables:
			if findProgram("nft", dirs) != "" {
				return byNftables
			}
		}
	}
	if iptables != "" && exec.CommandContext(ctx, iptables, "-w", "-S", "INPUT").Run() == nil {
		return byIptables
	}
	return byNftables
}

// renderConflist connects pods to a bridge. The bridge plugin is not to
// masquerade: it would add and remove rules for each pod, where one rule for all
// does (see masquerade). Packets are to fit the host's way out, or large ones
// would get lost on networks that drop the message which says so.
func (l layout) renderConflist(subnets []netip.Prefix, mtu int, ports string) ([]byte, error) {
	addresses := ipam{Type: "host-local", DataDir: l.addresses()}
	for _, s := range subnets {
		addresses.Ranges = append(addresses.Ranges, []ipamSubnet{{s}})
		dst := "0.0.0.0/0"
		if s.Addr().Is6() {
			dst = "::/0"
		}
		addresses.Routes = append(addresses.Routes, ipamRoute{dst})
	}
	list := conflist{Version: "1.0.0", Name: l.bridge(), Plugins: []any{
		bridgePlugin{Type: "bridge", Bridge: l.bridge(), IsGateway: true, Hairpin: true, MTU: mtu, IPAM: addresses},
		// snat makes host ports answer on 127.0.0.1 and to the pod itself.
		portmapPlugin{Type: "portmap", Capabilities: map[string]bool{"portMappings": true}, SNAT: true, Backend: ports},
	}}
	out, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("render the pod network: %w", err)
	}
	return append(out, '\n'), nil
}

// rendered is what is read back of what renderConflist wrote.
type rendered struct {
	Plugins []struct {
		IPAM    ipam   `json:"ipam"`
		Backend string `json:"backend"`
	} `json:"plugins"`
}

func readSubnets(raw []byte) []netip.Prefix {
	var list rendered
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil
	}
	var subnets []netip.Prefix
	for _, p := range list.Plugins {
		for _, r := range p.IPAM.Ranges {
			for _, s := range r {
				subnets = append(subnets, s.Subnet.Masked())
			}
		}
	}
	return subnets
}

func readPortBackend(raw []byte) string {
	var list rendered
	if err := json.Unmarshal(raw, &list); err != nil {
		return ""
	}
	for _, p := range list.Plugins {
		if p.Backend != "" {
			return p.Backend
		}
	}
	return ""
}

// setUpNetwork does what the plugins leave to the host.
func (l layout) setUpNetwork(subnets []netip.Prefix) error {
	six := slices.ContainsFunc(subnets, func(p netip.Prefix) bool { return p.Addr().Is6() })
	if err := forward(six); err != nil {
		return err
	}
	return masquerade(l.nftable(), subnets)
}
