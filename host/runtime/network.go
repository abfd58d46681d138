package runtime

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Network is how the node's pods are connected.
type Network struct {
	Bridge  string
	Subnets []netip.Prefix // of the pods, one for each family
}

// chooseSubnets takes the ones that are asked for, else the ones of an earlier
// start, which pods may be using, else free ones by the node's name. Where the host
// gives nobody an address of version 6, the plugin would connect no pod that is to
// have one.
func (l layout) chooseSubnets(wanted, kept []netip.Prefix, six bool) ([]netip.Prefix, error) {
	is6 := func(p netip.Prefix) bool { return p.Addr().Is6() }
	if !six && slices.ContainsFunc(wanted, is6) {
		return nil, fmt.Errorf("choose addresses for pods: %v are asked for, and IPv6 is switched off on this host", wanted)
	}
	if len(wanted) > 0 {
		return wanted, nil
	}
	if !six {
		kept = slices.DeleteFunc(slices.Clone(kept), is6)
	}
	if len(kept) > 0 {
		return kept, nil
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
	if local := subnet6(l.id); six && !overlapsAny(local, taken) {
		subnets = append(subnets, local)
	}
	return subnets, nil
}

// changeSubnets makes way for other subnets. The plugin gives a bridge no second
// address of a family, so the bridge has to go; pods would lose their connection.
func (l layout) changeSubnets(from, to []netip.Prefix) error {
	if !moved(from, to) {
		return nil
	}
	pods, err := os.ReadDir(filepath.Join("/sys/class/net", l.bridge(), "brif"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("change the addresses of pods: %w", err)
	}
	if len(pods) > 0 {
		return fmt.Errorf("change the addresses of pods from %v to %v: %d are connected: end them first", from, to, len(pods))
	}
	return removeBridge(l.bridge())
}

// moved reports whether a family has another subnet now.
func moved(from, to []netip.Prefix) bool {
	return slices.ContainsFunc(from, func(f netip.Prefix) bool {
		return slices.ContainsFunc(to, func(t netip.Prefix) bool { return t != f && t.Addr().Is6() == f.Addr().Is6() })
	})
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
	return netip.Prefix{}, errors.New("choose addresses for pods: routes of the host cover all of 10.89.0.0-10.95.255.255: give a subnet with --pod-cidr")
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

const cniVersion = "1.0.0"

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

// portPrograms are what the plugin runs.
func portPrograms() map[string]string {
	return map[string]string{byIptables: "iptables", byNftables: "nft"}
}

// portBackend is what the portmap plugin is to open host ports with. Without a word it
// runs iptables twice for each pod to find out, and for pods without ports too. What an
// earlier start chose is kept while it is there: pods' ports may be open by it.
func portBackend(ctx context.Context, kept string) string {
	dirs := newHostDirs().programs
	if program := portPrograms()[kept]; program != "" && findProgram(program, dirs) != "" {
		return kept
	}
	if iptables := findProgram("iptables", dirs); iptables != "" && exec.CommandContext(ctx, iptables, "-w", "10", "-S", "INPUT").Run() == nil {
		return byIptables
	}
	return byNftables
}

// writeConflist has containerd connect pods to the bridge.
func (l layout) writeConflist(ctx context.Context, subnets []netip.Prefix, keptPorts string) error {
	list, err := l.renderConflist(subnets, hostMTU(), portBackend(ctx, keptPorts))
	if err != nil {
		return err
	}
	if err := keep(l.conflist(), list); err != nil {
		return fmt.Errorf("write the pod network: %w", err)
	}
	return nil
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
	list := conflist{Version: cniVersion, Name: l.bridge(), Plugins: []any{
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

// choice is what an earlier start has chosen, and pods may be using.
type choice struct {
	subnets []netip.Prefix
	ports   string // what opens them
}

func (l layout) earlier() choice {
	raw, err := os.ReadFile(l.conflist())
	if err != nil {
		return choice{}
	}
	return readChoice(raw)
}

// readChoice reads back what renderConflist wrote.
func readChoice(raw []byte) (c choice) {
	var list struct {
		Plugins []struct {
			IPAM    ipam   `json:"ipam"`
			Backend string `json:"backend"`
		} `json:"plugins"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return choice{}
	}
	for _, p := range list.Plugins {
		for _, r := range p.IPAM.Ranges {
			for _, s := range r {
				c.subnets = append(c.subnets, s.Subnet.Masked())
			}
		}
		c.ports = cmp.Or(c.ports, p.Backend)
	}
	return c
}

// setUpNetwork does what the plugins leave to the host.
func (l layout) setUpNetwork(subnets []netip.Prefix) error {
	six := slices.ContainsFunc(subnets, func(p netip.Prefix) bool { return p.Addr().Is6() })
	if err := forward(six); err != nil {
		return err
	}
	return masquerade(l.nftable(), subnets)
}
