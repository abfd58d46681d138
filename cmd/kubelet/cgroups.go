package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/agent/config"
	"nodal/agent/ownruntime"
	"nodal/host/cgroup"
	"nodal/node/limit"
	"nodal/reconciler"
)

func limitRules(c config.Cgroups) limit.Rules {
	return limit.Rules{CPUPeriod: c.CPUQuotaPeriod.Microseconds(), NoQuota: !c.CPUQuota, Pids: c.PodPids}
}

// lookAtCgroups finds what the kernel can hold pods to.
func (a *agent) lookAtCgroups() error {
	if a.cfg.Cgroups.FailOnSwap && a.machine.swap > 0 {
		return errors.New("failSwapOn: this machine swaps; turn swap off, or set failSwapOn to false")
	}
	var err error
	if a.machine.cgroups, err = cgroup.FindMounts(); err != nil && a.cfg.Cgroups.PerPod {
		return fmt.Errorf("cgroupsPerQOS: %w", err)
	}
	if a.machine.cgroups.Version == 1 && a.cfg.Cgroups.FailOnV1 {
		return errors.New("failCgroupV1: this machine has version 1 of cgroups; move it to version 2, or set failCgroupV1 to false")
	}
	if a.machine.cgroups.Version == 1 && a.cfg.Cgroups.LimitedSwap {
		return errors.New("memorySwap.swapBehavior: LimitedSwap takes version 2 of cgroups, this machine has version 1; move it, or set NoSwap")
	}
	if a.machine.cgroups.Version == 1 {
		a.log.Info("cgroup v1 is deprecated by the kernel and by Kubernetes; use a machine with cgroup v2")
	}
	if missing := a.machine.cgroups.Missing(); len(missing) > 0 {
		a.log.Warn("some limits of pods will not hold: this machine has no cgroups for them", "controllers", missing)
	}
	return nil
}

// endsAsGroup says whether all processes of a container end when one has used up the
// memory, which takes version 2 of cgroups.
func (a *agent) endsAsGroup() bool {
	single := a.cfg.Cgroups.OOMSingle
	return a.machine.cgroups.Version == 2 && (single == nil || !*single)
}

// limitsSwap says whether the kernel can hold containers to a part of the swap. It is
// asked when there is one: before, nothing may be there that could tell.
func (a *agent) limitsSwap() bool {
	return a.machine.cgroups.Version == 2 && a.machine.cgroups.LimitsSwap()
}

// cgroupParent tells where a pod's containers belong.
func (a *agent) cgroupParent() func(*corev1.Pod) string {
	if a.cgroups != nil {
		return a.cgroups.parent
	}
	parent := a.cfg.Runtime.CgroupRoot
	if parent == "" && a.own != nil {
		parent = "/" + ownruntime.PodCgroup(a.cfg.Dirs.Root)
		if a.own.CgroupDriver() == "systemd" {
			parent = ownruntime.PodCgroup(a.cfg.Dirs.Root) + ".slice"
		}
	}
	return func(*corev1.Pod) string { return parent }
}

// podCgroups are the cgroups of pods. Who makes cgroups is the runtime's to say, so
// they are opened when they are first needed: then it answers.
type podCgroups struct {
	agent *agent
	mu    sync.Mutex
	tree  *cgroup.Tree
}

var _ reconciler.Cgroups = (*podCgroups)(nil)

func (p *podCgroups) SetUp(ctx context.Context, pod *corev1.Pod, limits limit.Limits) error {
	tree, err := p.open(ctx)
	if err != nil {
		return err
	}
	return tree.SetUp(ctx, pod, limits)
}

func (p *podCgroups) TearDown(ctx context.Context, uid types.UID) error {
	tree, err := p.open(ctx)
	if err != nil {
		return err
	}
	return tree.TearDown(ctx, uid)
}

func (p *podCgroups) Sweep(ctx context.Context, keep func(types.UID) bool) error {
	tree, err := p.open(ctx)
	if err != nil {
		return err
	}
	return tree.Sweep(ctx, keep)
}

// parent is asked for after the pod's own cgroup was set up.
func (p *podCgroups) parent(pod *corev1.Pod) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tree == nil {
		return ""
	}
	return p.tree.Parent(pod)
}

// path is where the kernel counts for a pod.
func (p *podCgroups) path(pod *corev1.Pod) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tree == nil {
		return ""
	}
	return p.tree.Path(pod)
}

// systemCgroups are those of all pods and of the node's own programs, by upstream's
// names. One that two of them share is told once.
func (a *agent) systemCgroups() map[string]string {
	found := map[string]string{}
	if a.cgroups != nil {
		found["pods"] = a.cgroups.root()
	}
	found["kubelet"] = a.machine.cgroups.Of(os.Getpid())
	if a.own != nil {
		if path := a.machine.cgroups.Of(a.own.Pid()); path != found["kubelet"] {
			found["runtime"] = path
		}
	}
	maps.DeleteFunc(found, func(_, path string) bool { return path == "" })
	return found
}

// root is where all pods are counted together.
func (p *podCgroups) root() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tree == nil {
		return ""
	}
	return p.tree.Root()
}

func (p *podCgroups) open(ctx context.Context) (*cgroup.Tree, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tree != nil {
		return p.tree, nil
	}
	a := p.agent
	driver, err := a.runtime.CgroupDriver(ctx)
	if err != nil {
		return nil, err
	}
	driver = cmp.Or(driver, a.cfg.Cgroups.Driver)
	c := cgroup.Config{
		Mounts: a.machine.cgroups, Systemd: driver == "systemd", Root: a.cfg.Runtime.CgroupRoot, Whole: a.whole,
	}
	if a.own != nil && c.Root == "" {
		c.Name = ownruntime.PodCgroup(a.cfg.Dirs.Root)
	} else { // other kubelets may have their pods there; whatever runs in one of ours has files of ours
		c.Ours = a.volumes.IsOurs
	}
	if p.tree, err = cgroup.Open(ctx, c, a.pods()); err != nil {
		return nil, err
	}
	a.log.Info("pods have cgroups of their own", "version", c.Mounts.Version, "driver", driver, "root", c.Root, "name", c.Name)
	return p.tree, nil
}

// pods are those that run, or are about to.
func (a *agent) pods() []*corev1.Pod {
	views, _ := a.state.store.Views()
	var pods []*corev1.Pod
	for _, v := range views {
		if v.Slot.Result == nil {
			pods = append(pods, v.Slot.Pod.Object)
		}
	}
	return pods
}
