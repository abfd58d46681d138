package agent

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	goruntime "runtime"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"nodal/agent/config"
	"nodal/agent/offering"
	"nodal/host/machine"
	"nodal/host/topology"
	"nodal/host/uevent"
	"nodal/node/admit"
	"nodal/node/assign"
	"nodal/node/limit"
	"nodal/node/offer"
)

// newOwner returns the owner of the node's offer, which has posted the first one.
func newOwner(
	cfg *config.Config, m machine.Facts, board *offer.Board, log *slog.Logger,
) (*offering.Owner, error) {
	terms, err := terms(cfg, m)
	if err != nil {
		return nil, err
	}
	disk, err := machine.DiskSize(cfg.Dirs.Root)
	if err != nil {
		return nil, err
	}
	facts, err := lookAtResources(disk)
	if err != nil {
		return nil, err
	}
	without, err := terms.Offer(facts)
	if err != nil {
		return nil, err
	}
	kept := without.Capacity.Memory().Value() - without.Allocatable.Memory().Value() - facts.InHugePages()
	if terms.Assign, err = assignment(cfg, kept); err != nil {
		return nil, err
	}
	owner := &offering.Owner{
		Look: func() (offering.Facts, error) { return lookAtResources(disk) }, Terms: terms, Board: board, Log: log,
	}
	return owner, owner.Begin()
}

// followOffer keeps the offer up to date until the context ends.
func followOffer(ctx context.Context, owner *offering.Owner, log *slog.Logger) {
	woken := make(chan struct{}, 1)
	var group sync.WaitGroup
	group.Go(func() {
		err := uevent.Watch(ctx, func() {
			select {
			case woken <- struct{}{}:
			default: // the look that is due sees this too
			}
		}, "cpu", "memory")
		if err != nil {
			log.Warn("the node learns later that a CPU came or went", "err", err)
		}
	})
	group.Go(func() { owner.Run(ctx, woken) })
	group.Wait()
}

// lookAtResources returns what an offer is made of now. The size of the disk stays that of the start.
func lookAtResources(disk int64) (f offering.Facts, err error) {
	if f.Machine, err = machine.Resources(os.DirFS("/")); err != nil {
		return f, err
	}
	f.Disk = disk
	if f.Online, err = topology.Online(os.DirFS("/sys")); err != nil {
		f.CPUs = goruntime.NumCPU() // a kernel without /sys tells which CPUs the agent may run on
		return f, nil
	}
	f.CPUs = f.Online.Size()
	return f, nil
}

// terms are the settings that offers are made by, but for assignments.
func terms(cfg *config.Config, m machine.Facts) (offering.Terms, error) {
	labels := map[string]string{
		corev1.LabelHostname:   cfg.Node.Name,
		corev1.LabelOSStable:   goruntime.GOOS,
		corev1.LabelArchStable: goruntime.GOARCH,
	}
	maps.Copy(labels, cfg.Node.Labels)
	r := cfg.Reserved
	t := offering.Terms{
		Node: admit.Node{
			Name: cfg.Node.Name, Labels: labels, UnsafeSysctls: cfg.Pods.UnsafeSysctls, AppArmor: m.AppArmor,
			Swap: limit.Swap{Limited: cfg.Cgroups.LimitedSwap},
		},
		Pods:     cfg.Pods.Max,
		Reserved: admit.Reserved{Kube: r.Kube, System: r.System, Eviction: r.Eviction, HoldAll: r.HoldAll},
		Topology: func() (assign.Topology, error) { return topology.Read(os.DirFS("/sys")) },
	}
	if cfg.Cluster.Kubeconfig == "" { // a cluster looks after its taints itself, and may have removed some
		t.Node.Taints = cfg.Cluster.Taints
	}
	var err error
	t.Node.Users, err = userPool(m.Subuid, m.Subgid, cfg.Pods.IDs, cfg.Pods.Max)
	return t, err
}

// assignment returns the rules by which containers get CPUs of their own. The bytes of memory that are kept from pods
// are those of all NUMA nodes.
func assignment(cfg *config.Config, kept int64) (*assign.Rules, error) {
	c := cfg.Assign
	rules := &assign.Rules{
		Static: c.CPUs, Reserved: cfg.Reserved.CPUs, Options: c.Options, Align: c.Align, WholePods: c.WholePods,
		MostNodes: c.MostNodes,
	}
	var err error
	if c.Memory {
		if rules.Memory, err = topology.Memory(os.DirFS("/sys")); err != nil {
			return nil, fmt.Errorf("memoryManagerPolicy=Static: %w", err)
		}
		if err := rules.Memory.Keep(c.Kept, kept); err != nil {
			return nil, err
		}
	}
	if rules.Topology, err = topology.Read(os.DirFS("/sys")); err != nil && rules.Static {
		return nil, fmt.Errorf("cpuManagerPolicy=static: %w", err)
	}
	if c.Closest {
		if rules.Distances, err = topology.Distances(os.DirFS("/sys")); err != nil {
			return nil, fmt.Errorf("topologyManagerPolicyOptions[prefer-closest-numa-nodes]: %w", err)
		}
	}
	if rules.Reserved.IsEmpty() {
		reserved := cfg.Reserved.Kube.Cpu().DeepCopy()
		reserved.Add(*cfg.Reserved.System.Cpu())
		rules.Reserved = rules.Topology.Reserve(int(reserved.Value())) // a part of one is a whole one
	}
	return rules, rules.Check()
}
