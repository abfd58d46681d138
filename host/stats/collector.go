package stats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

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
	// ImageUsage says how much of which file system images take.
	ImageUsage(context.Context) (*runtimeapi.FilesystemUsage, error)
}

// Config says where figures come from.
type Config struct {
	Runtime  Runtime
	Views    func() ([]node.View, int64) // of the pods, for what only the node knows
	NodeName string
	Started  time.Time // when the node did
	Root     string    // a directory on the node's own file system
	Proc     string    // the kernel's figures; empty: /proc
}

// Collector collects on demand.
type Collector struct {
	config Config

	mu    sync.Mutex
	taken time.Time
	known *statsapi.Summary
	err   error
	past  history
	next  chan struct{} // closed when the collection that is under way has ended; nil: none is

	asked map[string]chan answer // what earlier collections asked for and did not get; only one at a time uses it
}

// New makes a collector that has nothing yet.
func New(config Config) *Collector {
	if config.Proc == "" {
		config.Proc = "/proc"
	}
	return &Collector{config: config, past: history{}, asked: map[string]chan answer{}}
}

// Summary is what the node and its pods use, at most a second ago. It is shared:
// nobody may change it. With an error it lacks what the error names.
func (c *Collector) Summary(ctx context.Context) (*statsapi.Summary, error) {
	c.mu.Lock()
	if c.known != nil && time.Since(c.taken) < freshness {
		defer c.mu.Unlock()
		return c.known, c.err
	}
	if c.next == nil {
		c.next = make(chan struct{})
		// Others wait for it: it does not end because the first to ask is gone.
		go c.renew(context.WithoutCancel(ctx), c.next)
	}
	done := c.next
	c.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for stats: %w", ctx.Err())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known, c.err
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

func (c *Collector) renew(ctx context.Context, done chan struct{}) {
	summary, err := c.collect(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	rates(c.known, summary)
	c.known, c.err, c.taken, c.next = summary, err, time.Now(), nil
	c.past.add(summary, c.taken)
	close(done)
}

// part reads some figures. Fill writes them into a summary, where nobody else does.
type part func(context.Context) (fill func(*statsapi.Summary), err error)

type answer struct {
	fill func(*statsapi.Summary)
	err  error
}

// collect reads all parts side by side, and waits no longer than patience for one
// that hangs.
func (c *Collector) collect(ctx context.Context) (*statsapi.Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	parts := map[string]part{
		"pods": c.pods, "images": c.imageDisk, "the node's disk": c.rootDisk, "processors": c.processors,
		"memory": c.memory, "disks' pressure": c.disks, "the network": c.network, "processes": c.processes,
	}
	for name, read := range parts {
		c.ask(ctx, name, read)
	}
	summary := &statsapi.Summary{
		Node: statsapi.NodeStats{NodeName: c.config.NodeName, StartTime: at(c.config.Started)},
		Pods: []statsapi.PodStats{},
	}
	var errs []error
	for name := range parts {
		if fill, err := c.hear(ctx, name); err != nil {
			errs = append(errs, fmt.Errorf("read stats of %s: %w", name, err))
		} else {
			fill(summary)
		}
	}
	return summary, errors.Join(errs...)
}

// ask has a part read, unless an earlier collection waits for it in vain: what hangs
// in the kernel is not asked twice.
func (c *Collector) ask(ctx context.Context, name string, read part) {
	if reply, ok := c.asked[name]; ok {
		select {
		case <-reply: // too late for who asked, and too old
		default:
			return
		}
	}
	reply := make(chan answer, 1)
	c.asked[name] = reply
	go func() {
		fill, err := read(ctx)
		reply <- answer{fill, err}
	}()
}

func (c *Collector) hear(ctx context.Context, name string) (func(*statsapi.Summary), error) {
	select {
	case got := <-c.asked[name]:
		delete(c.asked, name)
		return got.fill, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
