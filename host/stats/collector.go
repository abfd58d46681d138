package stats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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
	next  chan struct{} // closed when the collection that is under way has ended; nil: none is
}

// New makes a collector that has nothing yet.
func New(config Config) *Collector {
	if config.Proc == "" {
		config.Proc = "/proc"
	}
	return &Collector{config: config}
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

func (c *Collector) renew(ctx context.Context, done chan struct{}) {
	summary, err := c.collect(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.err, c.taken, c.next = summary, err, time.Now(), nil
	close(done)
}

// part fills in what it alone writes of a summary.
type part func(context.Context) (fill func(*statsapi.Summary), err error)

// collect reads all parts side by side. A part that hangs, be it in the kernel, is
// waited for no longer than patience: what it says later is lost.
func (c *Collector) collect(ctx context.Context) (*statsapi.Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	summary := &statsapi.Summary{
		Node: statsapi.NodeStats{NodeName: c.config.NodeName, StartTime: at(c.config.Started)},
		Pods: []statsapi.PodStats{},
	}
	type answer struct {
		fill func(*statsapi.Summary)
		err  error
	}
	parts := map[string]part{"pods": c.pods, "the node": c.machine, "the node's disk": c.rootDisk, "images": c.imageDisk}
	answers := make(map[string]chan answer, len(parts))
	for name, read := range parts {
		answers[name] = make(chan answer, 1)
		go func() {
			fill, err := read(ctx)
			answers[name] <- answer{fill, err}
		}()
	}
	var errs []error
	for name, reply := range answers {
		got := answer{err: context.DeadlineExceeded}
		select {
		case got = <-reply:
		case <-ctx.Done():
		}
		if got.err != nil {
			errs = append(errs, fmt.Errorf("read stats of %s: %w", name, got.err))
			continue
		}
		got.fill(summary)
	}
	return summary, errors.Join(errs...)
}
