package agent

import (
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	goruntime "runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"nodal/agent/config"
	"nodal/agent/offering"
	"nodal/host/machine"
	"nodal/host/topology"
	"nodal/node/admit"
	"nodal/node/assign"
	"nodal/node/limit"
	"nodal/node/offer"
	"nodal/node/store"
)

// beginOffer posts the node's first offer and returns its owner.
func beginOffer(
	cfg *config.Config, m machine.Facts, board *offer.Board, devices *store.Devices, log *slog.Logger,
) (*offering.Owner, error) {
	root, sys := os.DirFS("/"), os.DirFS("/sys")
	users, err := userPool(m.Subuid, m.Subgid, cfg.Pods.IDs, cfg.Pods.Max)
	if err != nil {
		return nil, err
	}
	disk, err := machine.DiskSize(cfg.Dirs.Root)
	if err != nil {
		return nil, err
	}
	r := cfg.Reserved
	terms := offering.Terms{
		Node: admit.Node{
			Name: cfg.Node.Name, Taints: taints(cfg.Cluster), Users: users, AppArmor: m.AppArmor,
			Swap: limit.Swap{Limited: cfg.Cgroups.LimitedSwap}, Listeners: ownPorts(cfg.Listen),
		},
		Reserved: admit.Reserved{Kube: r.Kube, System: r.System, HoldAll: r.HoldAll},
		Topology: func() (assign.Topology, error) { return topology.Read(sys) },
	}
	setTerms(&terms, cfg)
	look := func() (offering.Facts, error) { return resources(root, sys, disk) }
	rules := func(kept int64) (*assign.Rules, error) { return assignRules(sys, cfg.Assign, r, kept) }
	return newOwner(terms, withDevices(look, devices, time.Now), rules, board, log)
}

// setTerms fills in the terms that may change while the agent runs.
func setTerms(t *offering.Terms, cfg *config.Config) {
	t.Node.Labels, t.Node.UnsafeSysctls = labels(cfg.Node), cfg.Pods.UnsafeSysctls
	t.Pods, t.PerCPU, t.Reserved.Eviction = cfg.Pods.Max, cfg.Pods.PerCPU, cfg.Reserved.Eviction
}

// labels returns the labels of a node: those of every node, and the configured ones, which win.
func labels(n config.Node) map[string]string {
	all := map[string]string{
		corev1.LabelHostname:   n.Name,
		corev1.LabelOSStable:   goruntime.GOOS,
		corev1.LabelArchStable: goruntime.GOARCH,
	}
	maps.Copy(all, n.Labels)
	return all
}

// ownPorts lists the ports of the host on which the agent serves.
func ownPorts(l config.Listen) []admit.Listener {
	var ports []admit.Listener
	for _, p := range []struct {
		address string
		port    int
		serves  string
	}{
		{l.Address, l.Port, "its API"},
		{l.ReadOnlyAddress, l.ReadOnlyPort, "its read-only API"},
		{l.HealthzAddress, l.HealthzPort, "its health"},
	} {
		if address, err := netip.ParseAddr(p.address); err == nil && p.port != 0 {
			ports = append(ports, admit.Listener{Address: address, Port: int32(p.port), Serves: p.serves})
		}
	}
	return ports
}

// taints returns the taints that the node itself heeds. A cluster looks after its taints, and may have removed some.
func taints(c config.Cluster) []corev1.Taint {
	if c.Kubeconfig != "" {
		return nil
	}
	return c.Taints
}

// assignRules returns the rules by which containers get CPUs and memory of their own on the machine whose /sys is
// sys. kept counts the bytes of memory on all NUMA nodes that are kept from pods.
func assignRules(sys fs.FS, a config.Assign, reserved config.Reserved, kept int64) (*assign.Rules, error) {
	rules := &assign.Rules{
		Static: a.CPUs, Options: a.Options, Align: a.Align, WholePods: a.WholePods, MostNodes: a.MostNodes,
	}
	var err error
	if a.Memory {
		if rules.Memory, err = topology.Memory(sys); err != nil {
			return nil, fmt.Errorf("memoryManagerPolicy=Static: %w", err)
		}
		if err := rules.Memory.Keep(a.Kept, kept); err != nil {
			return nil, err
		}
		rules.Kept = a.Kept
	}
	if rules.Topology, err = topology.Read(sys); err != nil && rules.Static {
		return nil, fmt.Errorf("cpuManagerPolicy=static: %w", err)
	}
	if a.Closest {
		if rules.Distances, err = topology.Distances(sys); err != nil {
			return nil, fmt.Errorf("topologyManagerPolicyOptions[prefer-closest-numa-nodes]: %w", err)
		}
	}
	rules.Reserved = reservedCPUs(reserved, rules.Topology)
	return rules, rules.Check()
}

// reservedCPUs returns the configured CPUs, or else as many as the reserved amounts of CPU take.
func reservedCPUs(r config.Reserved, t assign.Topology) cpuset.CPUSet {
	if !r.CPUs.IsEmpty() {
		return r.CPUs
	}
	amount := r.Kube.Cpu().DeepCopy()
	amount.Add(*r.System.Cpu())
	return t.Reserve(int(amount.Value())) // a part of a CPU takes the whole one
}
