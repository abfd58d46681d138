package agent

import (
	"context"
	"log/slog"
	"path/filepath"

	"nodal/agent/cgroups"
	"nodal/host/cgroup"
	"nodal/host/lowmem"
	"nodal/node/health"
)

// notices are the kernel's notices of memory that runs short, on the machine and among its pods.
type notices struct {
	*lowmem.Notices
	version int
	memory  string        // the directory of the memory controller
	pods    *cgroups.Pods // nil if pods have no cgroups of their own
	log     *slog.Logger
	failed  bool // an error was logged
}

func newNotices(mounts cgroup.Mounts, pods *cgroups.Pods, log *slog.Logger) *notices {
	return &notices{
		Notices: lowmem.New(), version: mounts.Version, memory: mounts.Dirs()["memory"], pods: pods, log: log,
	}
}

// run watches the machine, until the context ends.
func (n *notices) run(ctx context.Context) {
	if err := n.Run(ctx, "/proc/pressure/memory"); err != nil && ctx.Err() == nil {
		n.log.Info("the kernel gives no notice of tasks that wait for memory; the node is measured at intervals", "err", err)
	}
}

// arm asks for a notice when the memory is used up that is left above the thresholds. Version 2 of cgroups has no such
// notice.
func (n *notices) arm(p health.Pressure) {
	if n.version != 1 || n.memory == "" {
		return
	}
	for signal, group := range map[string]string{health.MemoryAvailable: "/", health.AllocatableMemoryAvailable: n.root()} {
		s, read := p.Signal(signal)
		gap, bounded := p.Gap(s)
		if group == "" || !read || !bounded || gap <= 0 {
			continue // nothing to wait for: a shortage that stands is measured again soon
		}
		if err := n.Arm(filepath.Join(n.memory, group), gap); err != nil && !n.failed {
			n.failed = true
			n.log.Info("the kernel gives no notice of used memory; the node is measured at intervals", "err", err)
		}
	}
}

// root returns the cgroup of all pods. It is empty before the first pod.
func (n *notices) root() string {
	if n.pods == nil {
		return ""
	}
	return n.pods.Root()
}
