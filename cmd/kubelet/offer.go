package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	goruntime "runtime"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"nodal/agent/config"
	"nodal/agent/offering"
	"nodal/host/cgroup"
	"nodal/host/topology"
	"nodal/host/uevent"
	"nodal/node/admit"
	"nodal/node/assign"
	"nodal/node/limit"
)

// makeOffer makes the owner of the node's offer, and has it post the first one.
func (a *agent) makeOffer() error {
	terms, err := terms(a.cfg)
	if err != nil {
		return err
	}
	facts, err := a.machine.facts(a.cfg.Dirs.Root)
	if err != nil {
		return err
	}
	without, err := terms.Offer(facts)
	if err != nil {
		return err
	}
	kept := without.Capacity.Memory().Value() - without.Allocatable.Memory().Value() - facts.InHugePages()
	if terms.Assign, err = assignment(a.cfg, kept); err != nil {
		return err
	}
	a.owner = &offering.Owner{
		Look: func() (offering.Facts, error) { return lookAgain(facts) }, Terms: terms, Board: &a.offers, Log: a.log,
	}
	return a.owner.Begin()
}

// ownOffer keeps the offer up to date until the context ends.
func (a *agent) ownOffer(ctx context.Context) error {
	woken := make(chan struct{}, 1)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		err := uevent.Watch(ctx, func() {
			select {
			case woken <- struct{}{}:
			default: // the look that is due sees this too
			}
		}, "cpu", "memory")
		if err != nil {
			a.log.Warn("the node learns later that a CPU came or went", "err", err)
		}
		return nil
	})
	group.Go(func() error {
		a.owner.Run(ctx, woken)
		return nil
	})
	return group.Wait()
}

// facts returns what the node's first offer is made of.
func (m machine) facts(root string) (offering.Facts, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(root, &disk); err != nil {
		return offering.Facts{}, fmt.Errorf("ask for the size of the file system of %s: %w", root, err)
	}
	return lookAgain(offering.Facts{Machine: admit.Machine{Disk: int64(disk.Blocks) * disk.Bsize}})
}

// lookAgain brings what may change while the agent runs up to date.
func lookAgain(f offering.Facts) (offering.Facts, error) {
	info, err := sysinfo()
	if err != nil {
		return f, err
	}
	f.Memory, f.Swap = int64(info.Totalram)*int64(info.Unit), int64(info.Totalswap)*int64(info.Unit)
	f.PIDs, f.HugePages = mostProcesses(), lookAtHugePages(hugePagesDir)
	if f.Online, err = topology.Online(os.DirFS("/sys")); err != nil { // a kernel without /sys has the CPUs that we may run on
		f.CPUs = goruntime.NumCPU()
		return f, nil
	}
	f.CPUs = f.Online.Size()
	return f, nil
}

// terms are the settings that offers are made by, but for assignments.
func terms(cfg *config.Config) (offering.Terms, error) {
	labels := map[string]string{
		corev1.LabelHostname: cfg.NodeName, corev1.LabelOSStable: goruntime.GOOS, corev1.LabelArchStable: goruntime.GOARCH,
	}
	maps.Copy(labels, cfg.NodeLabels)
	r := cfg.Reserved
	t := offering.Terms{
		Node: admit.Node{
			Name: cfg.NodeName, Labels: labels, UnsafeSysctls: cfg.UnsafeSysctls, AppArmor: enforcesAppArmor(),
			Swap: limit.Swap{Limited: cfg.Cgroups.LimitedSwap},
		},
		Pods: cfg.MaxPods, Reserved: admit.Reserved{Kube: r.Kube, System: r.System, Eviction: r.Eviction, HoldAll: r.HoldAll},
		Topology: func() (assign.Topology, error) { return topology.Read(os.DirFS("/sys")) },
	}
	if cfg.Cluster.Kubeconfig == "" { // a cluster may have taken them off its Node object, and looks after its taints itself
		t.Node.Taints = cfg.Cluster.Taints
	}
	var err error
	t.Node.Users, err = userPool(cfg)
	return t, err
}

// holdReserved holds other programs than pods to what is reserved for them.
func holdReserved(ctx context.Context, r config.Reserved, mounts cgroup.Mounts) error {
	for _, who := range []struct {
		config.Held
		setting string
		list    corev1.ResourceList
	}{{r.HoldKube, "kubeReservedCgroup", r.Kube}, {r.HoldSystem, "systemReservedCgroup", r.System}} {
		if !who.CPU {
			continue
		}
		var l limit.Limits
		if cpu, ok := who.list[corev1.ResourceCPU]; ok {
			l.CPUShares = limit.CPUShares(cpu.MilliValue())
		}
		if pids := who.list[admit.PIDs]; who.Rest {
			l.Memory, l.Pids = who.list.Memory().Value(), pids.Value()
		}
		if err := mounts.Hold(ctx, who.Cgroup, l); err != nil {
			return fmt.Errorf("%s: %w", who.setting, err)
		}
	}
	return nil
}

// assignment returns the rules by which containers get CPUs of their own. The bytes of memory that are kept from pods
// are those of all NUMA nodes.
func assignment(cfg *config.Config, kept int64) (*assign.Rules, error) {
	c := cfg.Assign
	rules := &assign.Rules{
		Static: c.CPUs, Reserved: cfg.Reserved.CPUs, Options: c.Options, Align: c.Align, WholePods: c.WholePods, MostNodes: c.MostNodes,
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

func enforcesAppArmor() bool {
	answer, err := os.ReadFile("/sys/module/apparmor/parameters/enabled")
	return err == nil && strings.HasPrefix(string(answer), "Y")
}
