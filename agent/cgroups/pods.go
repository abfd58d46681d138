package cgroups

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/host/cgroup"
	"nodal/node"
	"nodal/node/limit"
	"nodal/reconciler"
)

// Config holds the settings of the cgroups of pods.
type Config struct {
	Mounts   cgroup.Mounts
	Driver   func(context.Context) (string, error) // asks the runtime which driver it has
	Fallback string                                // the driver of a runtime that does not report its own
	Root     string                                // the cgroup above; empty means the top
	Name     string                                // of the cgroup of all pods; empty means kubepods
	AllPods  func() limit.Limits                   // that hold for all pods together
	Memory   func() int64                          // bytes that are not reserved for other programs than pods
	Keep     bool                                  // the kernel keeps the memory that pods request
	Reserve  int64                                 // percent of what better classes request that a class may not use
	Ours     func(types.UID) bool                  // reports a pod of this node; nil means that all are
	Running  func() []*corev1.Pod
	Log      *slog.Logger
}

// Pods are the cgroups of pods. They are opened at their first use: the runtime knows the driver, and may not answer
// earlier.
type Pods struct {
	config Config
	mu     sync.Mutex
	tree   *cgroup.Tree
}

var _ reconciler.Cgroups = (*Pods)(nil)

// NewPods returns cgroups that are not open yet.
func NewPods(c Config) *Pods { return &Pods{config: c} }

// Able fails if no pod can have a cgroup. It opens the cgroups, and costs nothing once they are open.
func (p *Pods) Able(ctx context.Context) error {
	_, err := p.open(ctx)
	return err
}

// SetUp makes the cgroup of a pod, or changes its limits.
func (p *Pods) SetUp(ctx context.Context, pod *corev1.Pod, limits limit.Limits) error {
	tree, err := p.open(ctx)
	if err != nil {
		return err
	}
	return tree.SetUp(ctx, pod, limits)
}

// TearDown removes the cgroup of a pod, and ends the processes in it.
func (p *Pods) TearDown(ctx context.Context, uid types.UID) error {
	tree, err := p.open(ctx)
	if err != nil {
		return err
	}
	return tree.TearDown(ctx, uid)
}

// Sweep tears down the cgroups of pods that need not be kept.
func (p *Pods) Sweep(ctx context.Context, keep func(types.UID) bool) error {
	tree, err := p.open(ctx)
	if err != nil {
		return err
	}
	return tree.Sweep(ctx, keep)
}

// Garbage lists what Sweep would tear down.
func (p *Pods) Garbage(ctx context.Context, keep func(types.UID) bool) ([]node.Garbage, error) {
	tree, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	return tree.Garbage(ctx, keep)
}

// bindEvery is the time after which a class of pods may use less than before.
const bindEvery = time.Minute

// Follow holds all pods together to their present limits, until the context ends. changed returns a channel that is
// closed when the limits may have changed. A class of pods that uses more than the others leave is bound once it uses less.
func (p *Pods) Follow(ctx context.Context, changed func() <-chan struct{}) {
	var again <-chan time.Time
	if p.config.Reserve > 0 {
		ticker := time.NewTicker(bindEvery)
		defer ticker.Stop()
		again = ticker.C
	}
	for {
		next := changed()
		if tree := p.opened(); tree != nil { // otherwise open applies them
			if err := tree.Hold(ctx, p.config.AllPods(), p.config.Memory()); err != nil {
				p.config.Log.Warn("all pods together keep the limits that they had", "err", err)
			}
		}
		select {
		case <-next:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// Parent returns the cgroup of a pod in the form that the runtime takes. It is empty before SetUp.
func (p *Pods) Parent(pod *corev1.Pod) string {
	if tree := p.opened(); tree != nil {
		return tree.Parent(pod)
	}
	return ""
}

// Path returns the cgroup where the kernel counts for a pod. It is empty before the first use.
func (p *Pods) Path(pod *corev1.Pod) string {
	if tree := p.opened(); tree != nil {
		return tree.Path(pod)
	}
	return ""
}

// Root returns the cgroup where the kernel counts for all pods together. It is empty before the first use.
func (p *Pods) Root() string {
	if tree := p.opened(); tree != nil {
		return tree.Root()
	}
	return ""
}

// Kept returns the bytes of memory that the kernel keeps for guaranteed pods for good, and for burstable pods as long
// as it can. Both are zero before the first use, and where pods have no cgroups of their own.
func (p *Pods) Kept() (guaranteed, soft int64) {
	if p == nil {
		return 0, 0
	}
	if tree := p.opened(); tree != nil {
		return tree.Kept()
	}
	return 0, 0
}

// opened returns the tree, or nil before the first use.
func (p *Pods) opened() *cgroup.Tree {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tree
}

// open returns the tree, and opens it before the first use.
func (p *Pods) open(ctx context.Context) (*cgroup.Tree, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tree != nil {
		return p.tree, nil
	}
	c := p.config
	driver, err := c.Driver(ctx)
	if err != nil {
		return nil, err
	}
	driver = cmp.Or(driver, c.Fallback)
	tree, err := cgroup.Open(ctx, cgroup.Config{
		Mounts: c.Mounts, Systemd: driver == "systemd", Root: c.Root, Name: c.Name, Whole: c.AllPods(), Keep: c.Keep,
		Ours: c.Ours, Memory: c.Memory(), Reserve: c.Reserve,
	}, c.Running())
	if err != nil {
		return nil, err
	}
	p.tree = tree
	c.Log.Info("pods have cgroups of their own",
		"version", c.Mounts.Version, "driver", driver, "root", c.Root, "name", c.Name)
	return tree, nil
}
