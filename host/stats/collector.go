package stats

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/cadvisor/lib/model"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node"
	"nodal/node/store"
)

const freshness = time.Second // scrapers that come together get the same figures

// Runtime measures the use of its pods.
type Runtime interface {
	// PodStats returns the use of all pods, without those that have gone meanwhile.
	PodStats(context.Context) ([]*runtimeapi.PodSandboxStats, error)
	// Layers returns the bytes that containers have written over their images.
	Layers(context.Context) ([]*runtimeapi.ContainerStats, error)
	// ImageUsage returns the file system that holds the images, and what they take of it.
	ImageUsage(context.Context) (*runtimeapi.FilesystemUsage, error)
}

// Config holds the sources of the figures.
type Config struct {
	Runtime  Runtime
	Cgroups  Cgroups
	Views    func() ([]store.View, int64) // of the pods, for what only the node knows
	NodeName string
	Started  time.Time // when the node did
	Root     string    // a directory on the node's own file system
	Proc     string    // the kernel's figures; empty: /proc
	Disk     Disk      // nil disables the measuring of disks
}

// Collector collects on demand.
type Collector struct {
	config  Config
	tree    *tree
	usage   shared[*collection]
	whole   shared[*collection]
	cgroups shared[[]*model.ContainerInfo]

	mu   sync.Mutex
	past requested

	// Only one collection of a kind at a time uses these.
	before         *collection
	few, many, all parts // of the three
	layers         layers

	short   parts  // of Signals, with what they remember
	images  place  // of imagefs
	allPods *group // the cgroup of all pods

	podDisks podDisks
	claims   podDisks // of them the volumes that pods have by claims
}

// collection holds the figures of one reading. If there is an error, it names the missing ones.
type collection struct {
	statsapi.Summary
	groups []podGroups // of the pods that the kernel counts for

	// Figures that are not in a summary.
	cpu           model.CpuUsage
	interfaces    []model.InterfaceStats
	disks         []model.FsStats
	containerDisk *model.FsStats      // nil: not known
	rests         map[string]*podRest // by the pod's UID
	layers        map[[2]string]*statsapi.FsStats
	onDisk        map[types.UID]*podDisk
}

// New makes a collector without figures.
func New(config Config) *Collector {
	if config.Proc == "" {
		config.Proc = "/proc"
	}
	c := &Collector{
		config: config, tree: newTree(config.Cgroups), past: requested{}, few: parts{}, many: parts{}, all: parts{}, short: parts{},
		podDisks: podDisks{disk: config.Disk, begun: map[types.UID]time.Time{}}, claims: podDisks{disk: claimed{config.Disk}, begun: map[types.UID]time.Time{}},
	}
	c.usage.collect, c.whole.collect, c.cgroups.collect = c.collectUsage, c.collectWhole, c.collectCgroups
	return c
}

// Usage returns the use of CPUs and memory by the node and its pods, at most a second
// old. Callers share the result and must not change it. If there is an error, it names
// the missing figures.
func (c *Collector) Usage(ctx context.Context) (*statsapi.Summary, error) {
	found, err := c.usage.get(ctx)
	if found == nil {
		return nil, err
	}
	return &found.Summary, err
}

// Summary returns the same as Usage, with networks, disks and processes. It is kept for a second too, so that its
// figures of Usage may be two seconds old.
func (c *Collector) Summary(ctx context.Context) (*statsapi.Summary, error) {
	found, err := c.whole.get(ctx)
	if found == nil {
		return nil, err
	}
	return &found.Summary, err
}

// History returns what the containers of a pod used in the last 15 minutes. It has
// gaps for times without a request.
func (c *Collector) History(uid types.UID) map[string][]node.Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string][]node.Usage{}
	for name, usages := range c.past[string(uid)] {
		found[name] = slices.Clone(usages)
	}
	return found
}

func (c *Collector) remember(found *collection) {
	if c.before != nil {
		rates(&c.before.Summary, &found.Summary)
	}
	c.before = found
	c.mu.Lock()
	defer c.mu.Unlock()
	c.past.add(&found.Summary, time.Now())
}

// collectUsage reads the figures that all requests need.
func (c *Collector) collectUsage(ctx context.Context) (*collection, error) {
	groups, all := c.groups()
	read := []part{
		{"pods", func(context.Context) (func(*collection), error) { return c.kernelPods(groups) }},
		{"processors", c.processors}, {"memory", c.memory},
		{"the node's own programs", func(context.Context) (func(*collection), error) {
			own := c.systemContainers()
			return func(s *collection) { s.Node.SystemContainers = own }, nil
		}},
	}
	if !all {
		read = append(read, part{"pods that the runtime counts for", c.runtimePods})
	}
	found := &collection{Summary: statsapi.Summary{
		Node: statsapi.NodeStats{NodeName: c.config.NodeName, StartTime: at(c.config.Started)},
		Pods: []statsapi.PodStats{},
	}}
	err := c.few.read(ctx, read, found)
	slices.SortFunc(found.Pods, byName)
	c.remember(found)
	return found, err
}

// collectWhole adds the other figures of a summary.
func (c *Collector) collectWhole(ctx context.Context) (*collection, error) {
	usage, err := c.usage.get(ctx)
	if usage == nil {
		return nil, err
	}
	found := usage.clone()
	more := c.many.read(ctx, []part{
		{"pods' networks and processes", c.kernelPodRests(found.groups)},
		{"what containers wrote", c.readLayers},
		{"images", c.imageDisk}, {"the node's disk", c.rootDisk},
		{"what pods have on disk", c.readPodDisks},
		{"disks' pressure", c.disks}, {"the network", c.network}, {"processes", c.processes},
	}, found)
	found.layers = c.layers.known
	c.layers.addTo(found.Pods, found.Node.Runtime)
	found.addDisks()
	return found, errors.Join(err, more)
}

// clone returns a copy to which figures may be added.
func (c *collection) clone() *collection {
	own := *c
	own.Pods = slices.Clone(c.Pods)
	for i := range own.Pods {
		own.Pods[i].Containers = slices.Clone(c.Pods[i].Containers)
	}
	return &own
}
