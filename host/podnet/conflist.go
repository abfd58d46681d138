package podnet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"

	"nodal/host/replace"
)

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

// ownPlugin is the bundle's, which does what bridge and portmap do.
type ownPlugin struct {
	Type         string          `json:"type"`
	Bridge       string          `json:"bridge"`
	MTU          int             `json:"mtu,omitempty"`
	IPAM         ipam            `json:"ipam"`
	Capabilities map[string]bool `json:"capabilities"`
	Backend      string          `json:"backend"`
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

// portPrograms are the programs that the portmap plugin runs, by backend.
func portPrograms() map[string]string {
	return map[string]string{byIptables: "iptables", byNftables: "nft"}
}

// portBackend is the backend that the portmap plugin opens host ports with. Without one it runs iptables twice for
// each pod to find out, even for pods without ports. The choice of an earlier start is kept while its program is
// there: pods' ports may be open by it.
func (p Places) portBackend(ctx context.Context, kept string) string {
	if program := portPrograms()[kept]; program != "" && p.program(program) != "" {
		return kept
	}
	iptables := p.program("iptables")
	if iptables != "" && exec.CommandContext(ctx, iptables, "-w", "10", "-S", "INPUT").Run() == nil {
		return byIptables
	}
	return byNftables
}

// writeConflist has containerd connect pods to the bridge.
func (p Places) writeConflist(ctx context.Context, subnets []netip.Prefix, keptPorts string) error {
	list, err := p.renderConflist(subnets, hostMTU(), p.portBackend(ctx, keptPorts))
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(p.Conflist); err == nil && bytes.Equal(old, list) {
		return nil // containerd reads the file again whenever it is replaced
	}
	if err := replace.File(p.Conflist, list, 0o600); err != nil {
		return fmt.Errorf("write the pod network: %w", err)
	}
	return nil
}

// renderConflist connects pods to a bridge. The bridge plugin does not masquerade: it would add and remove rules for
// each pod, where masquerade has one rule for all. The MTU is that of the host's default route: some networks drop the
// message that a packet is too large.
func (p Places) renderConflist(subnets []netip.Prefix, mtu int, ports string) ([]byte, error) {
	addresses := ipam{Type: "host-local", DataDir: p.Addresses}
	for _, s := range subnets {
		addresses.Ranges = append(addresses.Ranges, []ipamSubnet{{s}})
		dst := "0.0.0.0/0"
		if s.Addr().Is6() {
			dst = "::/0"
		}
		addresses.Routes = append(addresses.Routes, ipamRoute{dst})
	}
	list := conflist{Version: cniVersion, Name: p.bridge(), Plugins: p.renderPlugins(addresses, mtu, ports)}
	out, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("render the pod network: %w", err)
	}
	return append(out, '\n'), nil
}

// renderPlugins lists the bundle's plugin, or those that machines have.
func (p Places) renderPlugins(addresses ipam, mtu int, ports string) []any {
	capabilities := map[string]bool{"portMappings": true}
	if p.Bundled {
		return []any{ownPlugin{
			Type: "nodal", Bridge: p.bridge(), MTU: mtu, IPAM: addresses, Capabilities: capabilities, Backend: ports,
		}}
	}
	return []any{
		bridgePlugin{
			Type: "bridge", Bridge: p.bridge(), IsGateway: true, Hairpin: true, MTU: mtu, IPAM: addresses,
		},
		// snat makes host ports answer on 127.0.0.1 and to the pod itself.
		portmapPlugin{Type: "portmap", Capabilities: capabilities, SNAT: true, Backend: ports},
	}
}

// choice is a choice of an earlier start that pods may be using.
type choice struct {
	subnets []netip.Prefix
	ports   string // the backend that opens host ports
}

// earlier reads the choice of an earlier start. It is empty if there was none.
func (p Places) earlier() choice {
	raw, err := os.ReadFile(p.Conflist)
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
	for _, plugin := range list.Plugins {
		for _, ranges := range plugin.IPAM.Ranges {
			for _, r := range ranges {
				c.subnets = append(c.subnets, r.Subnet.Masked())
			}
		}
		c.ports = cmp.Or(c.ports, plugin.Backend)
	}
	return c
}
