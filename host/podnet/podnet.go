package podnet

import (
	"context"
	"errors"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"nodal/host/podnet/nft"
)

// cniCache is the directory of the records of the CNI library. All runtimes of the machine share it, and its path
// is fixed.
const cniCache = "/var/lib/cni"

// Places says where the pod network finds what it shares with the container runtime.
type Places struct {
	ID         string   // of the node, at least 6 bytes; it names the bridge and the nftables tables
	Conflist   string   // the file that describes the network to containerd
	Addresses  string   // the directory in which the host-local plugin keeps the addresses of pods
	Plugins    []string // patterns of directories with CNI plugins, best first
	Bundled    bool     // containerd runs the plugins of the bundle
	Programs   []string // absolute directories with iptables and nft
	Namespaces []string // directories below which every network namespace is one of this node
}

// bridge is the interface that pods are connected to. The kernel takes 15 bytes at most.
func (p Places) bridge() string { return "nd-" + p.ID[:6] }

// table is the nftables table of this node.
func (p Places) table() string { return "nodal-" + p.ID }

// owns reports whether a network namespace is one of this node.
func (p Places) owns(namespace string) bool {
	return slices.ContainsFunc(p.Namespaces, func(dir string) bool { return strings.HasPrefix(namespace, dir+"/") })
}

// program finds a program of the host; it returns "" if there is none.
func (p Places) program(name string) string { return runnable(p.Programs, name) }

// plugin finds a CNI plugin; it returns "" if there is none.
func (p Places) plugin(name string) string {
	for _, pattern := range p.Plugins {
		dirs, _ := filepath.Glob(pattern) // the patterns are well-formed
		if path := runnable(dirs, name); path != "" {
			return path
		}
	}
	return ""
}

// runnable returns the first executable file of a name.
func runnable(dirs []string, name string) string {
	for _, dir := range dirs {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return ""
}

// Config is the configuration of a pod network.
type Config struct {
	Places Places
	CIDRs  []netip.Prefix // of the pods, one for each family; free ones if empty

	// Reopens says that the portmap plugin is the bundle's. Some plugins of hosts take open ports for closed where
	// pods have addresses of IPv6, so theirs are never asked to open ports again.
	Reopens bool

	// Source tells which policies hold for pods; nil stands for none.
	Source Source

	// Leads tells where services lead; nil stands for no services.
	Leads Leads

	// Services holds the addresses of services; a free subnet if it is not valid.
	Services netip.Prefix

	// Closed are TCP ports of the host that pods may not connect to.
	Closed []uint16
}

// Network connects the pods of one node to each other and to the world.
type Network struct {
	places  Places
	wanted  []netip.Prefix
	subnets atomic.Pointer[[]netip.Prefix] // once it is set up
	making  sync.RWMutex                   // held to read while a pod is being connected
	reopens bool
	closed  []uint16
	source  Source
	cache   string // of the CNI library
	ports   openPorts
	left    left

	connected connected
	services  netip.Prefix // that are wanted
	served    services
}

// New makes a network that SetUp lays down.
func New(c Config) *Network {
	return &Network{places: c.Places, wanted: c.CIDRs, reopens: c.Reopens, closed: c.Closed, source: c.Source, cache: cniCache,
		connected: connected{ends: map[string]end{}}, services: c.Services, served: services{leads: c.Leads}}
}

// Bridge is the name of the interface that pods are connected to.
func (n *Network) Bridge() string { return n.places.bridge() }

// Subnets are the addresses of the pods, one for each family, once the network is set up.
func (n *Network) Subnets() []netip.Prefix {
	if s := n.subnets.Load(); s != nil {
		return *s
	}
	return nil
}

func (n *Network) use(subnets []netip.Prefix) { n.subnets.Store(&subnets) }

// SetUp lays the network down: addresses, the description that containerd reads, forwarding and the masquerade
// rules. It keeps the choices of an earlier start, which pods may be using.
func (n *Network) SetUp(ctx context.Context) error {
	kept := n.places.earlier()
	subnets, err := n.places.chooseSubnets(n.wanted, kept.subnets, hasIPv6())
	if err != nil {
		return err
	}
	if err := n.places.changeSubnets(kept.subnets, subnets); err != nil {
		return err
	}
	n.use(subnets)
	n.chooseServices(n.services)
	n.ports.doubt() // ports may have been closed while no agent ran
	if err := n.route(); err != nil {
		return err
	}
	n.setUpGuard()
	return n.places.writeConflist(ctx, subnets, kept.ports)
}

// route does what the plugins leave to the host: it forwards packets, and masquerades those that leave.
func (n *Network) route() error {
	six := slices.ContainsFunc(n.Subnets(), func(s netip.Prefix) bool { return s.Addr().Is6() })
	if err := forward(six); err != nil {
		return err
	}
	return nft.Replace(n.routed())
}

// Clean removes everything of the network from the machine, but for its files. After a failure it can be called
// again as long as the files and the plugins are there.
func (n *Network) Clean(ctx context.Context) error {
	return errors.Join(
		n.closePorts(ctx),
		n.places.removePortRules(ctx),
		n.places.removeSharedChains(ctx),
		removeBridge(n.places.bridge()),
		nft.Remove(n.routed()),
		removeGuard(n.places.table()),
		n.removeServices(),
	)
}
