package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	goruntime "runtime"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/agent/config"
	"nodal/host/cgroup"
	"nodal/host/topology"
	"nodal/node/admit"
	"nodal/node/assign"
	"nodal/node/limit"
)

// offer is what pods may have of this machine, and the labels that they may
// choose it by.
func offer(cfg *config.Config, m machine) (admit.Node, error) {
	var root unix.Statfs_t
	if err := unix.Statfs(cfg.Dirs.Root, &root); err != nil {
		return admit.Node{}, fmt.Errorf("ask for the size of the file system of %s: %w", cfg.Dirs.Root, err)
	}
	labels := map[string]string{
		corev1.LabelHostname: cfg.NodeName, corev1.LabelOSStable: goruntime.GOOS, corev1.LabelArchStable: goruntime.GOARCH,
	}
	maps.Copy(labels, cfg.NodeLabels)
	n := admit.Node{
		Name: cfg.NodeName, Labels: labels, UnsafeSysctls: cfg.UnsafeSysctls, AppArmor: enforcesAppArmor(),
		Swap: limit.Swap{Limited: cfg.Cgroups.LimitedSwap, Total: m.swap},
		Capacity: corev1.ResourceList{
			corev1.ResourceCPU:              *resource.NewQuantity(int64(goruntime.NumCPU()), resource.DecimalSI),
			corev1.ResourceMemory:           *resource.NewQuantity(m.memory, resource.BinarySI),
			corev1.ResourceEphemeralStorage: *resource.NewQuantity(int64(root.Blocks)*root.Bsize, resource.BinarySI),
			corev1.ResourcePods:             *resource.NewQuantity(int64(cfg.MaxPods), resource.DecimalSI),
		},
	}
	if cfg.Cluster.Kubeconfig == "" { // a cluster may have taken them off its Node object, and looks after its taints itself
		n.Taints = cfg.Cluster.Taints
	}
	for _, pages := range m.hugePages {
		name, amount := pages.resource()
		n.Capacity[name] = amount
	}
	var err error
	if n.Users, err = userPool(cfg); err != nil {
		return admit.Node{}, err
	}
	n.Allocatable, err = admit.Left(n.Capacity, append(reservations(cfg.Reserved), leftFree(cfg.Reserved, n.Capacity), setAside(m.hugePages))...)
	return n, err
}

// reservations are what other programs than pods get.
func reservations(r config.Reserved) []admit.Reservation {
	return []admit.Reservation{{Setting: "kubeReserved", List: r.Kube}, {Setting: "systemReserved", List: r.System}}
}

// leftFree is what nobody is to use: the thresholds of evictionHard.
func leftFree(r config.Reserved, capacity corev1.ResourceList) admit.Reservation {
	list := corev1.ResourceList{}
	for signal, name := range map[string]corev1.ResourceName{
		"memory.available": corev1.ResourceMemory, "nodefs.available": corev1.ResourceEphemeralStorage,
	} {
		if threshold, ok := r.Eviction[signal]; ok {
			list[name] = threshold.Of(capacity[name])
		}
	}
	return admit.Reservation{Setting: "evictionHard", List: list}
}

// setAside is the memory that is nobody's but those who ask for huge pages.
func setAside(all []hugePages) admit.Reservation {
	var bytes int64
	for _, pages := range all {
		bytes += pages.size * pages.number
	}
	return admit.Reservation{Setting: "huge pages", List: corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(bytes, resource.BinarySI)}}
}

// whole is what all pods together are held to. What nobody is to use is not taken
// off, as in Kubernetes, where pods are evicted before the kernel has to end them.
func whole(cfg *config.Config, m machine, capacity corev1.ResourceList) (limit.Limits, error) {
	all := capacity.DeepCopy()
	if m.pids > 0 {
		all[config.PIDs] = *resource.NewQuantity(m.pids, resource.DecimalSI)
	}
	if cfg.Reserved.HoldAll {
		var err error
		if all, err = admit.Left(all, reservations(cfg.Reserved)...); err != nil {
			return limit.Limits{}, err
		}
	}
	pids := all[config.PIDs]
	return limit.Limits{CPUShares: limit.CPUShares(all.Cpu().MilliValue()), Memory: all.Memory().Value(), Pids: pids.Value()}, nil
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
		if pids := who.list[config.PIDs]; who.Rest {
			l.Memory, l.Pids = who.list.Memory().Value(), pids.Value()
		}
		if err := mounts.Hold(ctx, who.Cgroup, l); err != nil {
			return fmt.Errorf("%s: %w", who.setting, err)
		}
	}
	return nil
}

// assignment is by which rules containers get CPUs of their own.
func assignment(cfg *config.Config, m machine, offer admit.Node) (*assign.Rules, error) {
	c := cfg.Assign
	rules := &assign.Rules{
		Static: c.CPUs, Reserved: cfg.Reserved.CPUs, Options: c.Options, Align: c.Align, WholePods: c.WholePods, MostNodes: c.MostNodes,
	}
	var err error
	if c.Memory {
		if rules.Memory, err = topology.Memory(os.DirFS("/sys")); err != nil {
			return nil, fmt.Errorf("memoryManagerPolicy=Static: %w", err)
		}
		pages := setAside(m.hugePages).List // which the memory of NUMA nodes is without
		kept := offer.Capacity.Memory().Value() - offer.Allocatable.Memory().Value() - pages.Memory().Value()
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
