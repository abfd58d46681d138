package podnet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"nodal/host/podnet/nft"
	"nodal/node"
)

// Checks lists what the network needs of the machine.
func (n *Network) Checks(ctx context.Context) []node.Check {
	p := n.places
	return []node.Check{
		{
			Name: "namespaces", Required: true, Trial: true, Look: tryNetwork,
			Remedy: "use a kernel with CONFIG_NET_NS, CONFIG_BRIDGE and CONFIG_VETH, " +
				"or load the kernel modules bridge and veth",
		},
		{Name: "sysctl", Required: true, Look: writableSysctl, Remedy: "mount /proc/sys writable"},
		{
			Name: "nftables", Required: true, Trial: true, Look: func() error { return tryNftables(p.table()) },
			Remedy: "use a kernel with CONFIG_NF_TABLES and CONFIG_NFT_MASQ, " +
				"or load the kernel modules nf_tables and nft_masq",
		},
		{
			Name: "bridge filter", Trial: true, Look: func() error { return tryGuard(p.table()) },
			Remedy: "use a kernel with CONFIG_NF_TABLES_BRIDGE; without it pods can send from each other's addresses",
		},
		{
			Name: "host ports", Trial: true, Look: func() error { return p.canOpenPorts(ctx) },
			Remedy: "install nft, or an iptables that works here",
		},
		{Name: "forwarding", Look: func() error { return forwarding(p.bridge()) }, Remedy: letForward(p.bridge())},
	}
}

func writableSysctl() error {
	f, err := os.OpenFile(filepath.Join(procNet, forwarding4), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open a sysctl to write: %w", err)
	}
	return f.Close()
}

// tryNftables makes a table beside that of the node, and removes it.
func tryNftables(name string) error {
	return try(routed(name+"-trial", "", nil, nil))
}

// tryGuard makes a guard beside that of the node, and removes it.
func tryGuard(name string) error { return try(guard(name+"-trial", nil, nil, nil, false)) }

func try(t nft.Table) error {
	if err := nft.Replace(t); err != nil {
		return err
	}
	return nft.Remove(t)
}

// canOpenPorts looks for the program that the portmap plugin will run.
func (p Places) canOpenPorts(ctx context.Context) error {
	program := portPrograms()[p.portBackend(ctx, p.earlier().ports)]
	if p.program(program) == "" {
		return fmt.Errorf("host ports would be opened by %s, which is not installed: pods with a hostPort will not start",
			program)
	}
	return nil
}
