package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/agent/state"
	"nodal/host/stats"
	"nodal/host/usage"
	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler/evict"
)

// makeLimit returns how many sandboxes and containers are made side by side. Making one is work of the machine's
// cores. A few more than there are cores keep all busy, and many more only disturb each other.
func makeLimit(cores int) int { return max(4, 2*cores) }

// freed returns a function that looks again at waiting pods, in the transaction that frees the resources of another.
func freed(readmit func(*store.Tx, time.Time)) func(*store.Tx) {
	return func(tx *store.Tx) { readmit(tx, time.Now()) }
}

// newEvictor returns the evictor of pods that write more to the disk than they may.
func newEvictor(s *state.State, disk evict.Disk, count func(limit string), log *slog.Logger) *evict.Evictor {
	return &evict.Evictor{
		Store: s.Store, Disk: disk, Events: s.Events, Log: log, Clock: time.Now,
		Evicted: func(over evict.Limit) { count(string(over)) },
	}
}

// newRelief returns the part that evicts pods when the node runs short.
func newRelief(o Options, m memory, p parts) *evict.Relief {
	return &evict.Relief{
		Store: m.state.Store, Pressures: p.vitals, Figures: podFigures{p.figures, p.meter}, Images: p.shelf.Collector,
		Logs: p.logs, Scarce: p.reconciler.SetScarce, Events: m.state.Events, Log: o.Log, Clock: time.Now,
		MaxGrace: maxGrace(p.config.Running), Evicted: m.counts.Relieved,
	}
}

// podFigures measure what pods use for an eviction: memory and tasks by the kernel, files on the disk.
type podFigures struct {
	stats *stats.Collector
	meter *usage.Meter
}

var _ evict.Figures = podFigures{}

// Memory returns the working set of all pods.
func (f podFigures) Memory(ctx context.Context, _ []*node.Pod) (map[types.UID]node.PodUse, error) {
	return f.stats.PodMemory(ctx)
}

// Tasks returns how many tasks all pods have.
func (f podFigures) Tasks(context.Context, []*node.Pod) (map[types.UID]node.PodUse, error) {
	return f.stats.PodTasks(), nil
}

// Disk measures the files of pods, one pod after the other: they lie on one disk.
func (f podFigures) Disk(
	ctx context.Context, pods []*node.Pod, parts node.DiskParts, inodes bool,
) (map[types.UID]node.PodUse, error) {
	count := func(s node.Space) int64 { return s.Bytes }
	if inodes {
		count = func(s node.Space) int64 { return s.Inodes }
	}
	found := map[types.UID]node.PodUse{}
	var errs []error
	for _, pod := range pods {
		used, err := f.meter.Used(ctx, pod, parts)
		if err != nil {
			errs = append(errs, fmt.Errorf("pod %s: %w", pod.Key(), err))
		}
		use := node.PodUse{Total: count(used.Total), Containers: map[string]int64{}}
		for name, space := range used.Containers {
			use.Containers[name] = count(space)
		}
		if err == nil || use.Total > 0 { // what is known counts, and the rest may be more
			found[pod.UID()] = use
		}
	}
	return found, errors.Join(errs...)
}
