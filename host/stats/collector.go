package stats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/cadvisor/lib/model"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node"
)

const (
	freshness = time.Second     // scrapers that come together get the same figures
	patience  = 5 * time.Second // with each part of a collection
)

// Runtime tells what its pods use.
type Runtime interface {
	// PodStats leaves out a pod that is gone meanwhile.
	PodStats(context.Context) ([]*runtimeapi.PodSandboxStats, error)
	// Layers says what containers have written over the files of their images.
	Layers(context.Context) ([]*runtimeapi.ContainerStats, error)
	// ImageUsage says how much of which file system images take.
	ImageUsage(context.Context) (*runtimeapi.FilesystemUsage, error)
}

// Config says where figures come from.
type Config struct {
	Runtime  Runtime
	Cgroups  Cgroups
	Views    func() ([]node.View, int64) // of the pods, for what only the node knows
	NodeName string
	Started  time.Time // when the node did
	Root     string    // a directory on the node's own file system
	Proc     string    // the kernel's figures; empty: /proc
}

// Collector collects on demand.
type Collector struct {
	config  Config
	now     shared[*collection]
	cgroups shared[[]*model.ContainerInfo]

	mu   sync.Mutex
	past history

	// Only one collection at a time uses these.
	before *collection
	asked  map[string]chan answer // what earlier collections asked for and did not get
	layers layers
}

// collection is what one reading has found. With an error it lacks what that names.
type collection struct {
	statsapi.Summary
	groups []podGroups // of the pods that the kernel counts for

	// What the summary has no words for.
	cpu           model.CpuUsage
	interfaces    []model.InterfaceStats
	disks         []model.FsStats
	containerDisk *model.FsStats // nil: not known
}

// New makes a collector that has nothing yet.
func New(config Config) *Collector {
	if config.Proc == "" {
		config.Proc = "/proc"
	}
	c := &Collector{config: config, past: history{}, asked: map[string]chan answer{}}
	c.now.collect, c.cgroups.collect = c.collect, c.collectCgroups
	return c
}

// Summary is what the node and its pods use, at most a second ago. It is shared:
// nobody may change it. With an error it lacks what the error names.
func (c *Collector) Summary(ctx context.Context) (*statsapi.Summary, error) {
	found, err := c.now.get(ctx)
	if found == nil {
		return nil, err
	}
	return &found.Summary, err
}

// History is what the containers of a pod used in the last 15 minutes, as far as
// somebody asked then.
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

// part reads some figures. Fill writes them into a collection, where nobody else does.
type part struct {
	name string
	read func(context.Context) (fill func(*collection), err error)
}

type answer struct {
	fill func(*collection)
	err  error
}

// collect reads all parts side by side, and waits no longer than patience for one
// that hangs.
func (c *Collector) collect(ctx context.Context) (*collection, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	groups, all := c.groups()
	parts := []part{
		{"pods", func(context.Context) (func(*collection), error) { return kernelPods(c, groups), nil }},
		{"what containers wrote", c.readLayers},
		{"images", c.imageDisk}, {"the node's disk", c.rootDisk}, {"processors", c.processors},
		{"memory", c.memory}, {"disks' pressure", c.disks}, {"the network", c.network}, {"processes", c.processes},
	}
	if !all {
		parts = append(parts, part{"pods that the runtime counts for", c.toldPods})
	}
	fresh := make([]bool, len(parts))
	for i, p := range parts {
		fresh[i] = c.ask(ctx, p)
	}
	found := &collection{Summary: statsapi.Summary{
		Node: statsapi.NodeStats{NodeName: c.config.NodeName, StartTime: at(c.config.Started)},
		Pods: []statsapi.PodStats{},
	}}
	var errs []error
	for i, p := range parts {
		if fill, err := c.hear(ctx, p, fresh[i]); err != nil {
			errs = append(errs, fmt.Errorf("read stats of %s: %w", p.name, err))
		} else {
			fill(found)
		}
	}
	c.layers.addTo(found.Pods)
	slices.SortFunc(found.Pods, byName)
	c.remember(found)
	return found, errors.Join(errs...)
}

// ask has a part read, unless an earlier collection waits for it in vain: what hangs
// in the kernel is not asked twice.
func (c *Collector) ask(ctx context.Context, p part) (fresh bool) {
	if reply, ok := c.asked[p.name]; ok {
		select {
		case <-reply: // too late for who asked, and too old
		default:
			return false
		}
	}
	reply := make(chan answer, 1)
	c.asked[p.name] = reply
	go func() {
		fill, err := p.read(ctx)
		reply <- answer{fill, err}
	}()
	return true
}

// hear waits for what was asked just now, and no longer for what hangs already.
func (c *Collector) hear(ctx context.Context, p part, fresh bool) (func(*collection), error) {
	if !fresh {
		return nil, errHangs
	}
	select {
	case got := <-c.asked[p.name]:
		delete(c.asked, p.name)
		return got.fill, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errHangs = errors.New("an earlier reading still hangs")
