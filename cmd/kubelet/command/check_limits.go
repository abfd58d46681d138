package command

import (
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"nodal/agent/config"
	"nodal/agent/offering"
	"nodal/host/machine"
	hostruntime "nodal/host/runtime"
	"nodal/host/topology"
	"nodal/node/admit"
	"nodal/node/health"
)

// checkLimits compares what the settings keep from pods with this machine.
func checkLimits(cfg *config.Config) []hostruntime.Finding {
	has, err := machine.Resources(os.DirFS("/"))
	if err != nil {
		return nil // other findings tell of a machine without /proc
	}
	has.CPUs = goruntime.NumCPU()
	if online, err := topology.Online(os.DirFS("/sys")); err == nil {
		has.CPUs = online.Size()
	}
	return limits(cfg.Reserved, has, signals(has, cfg.Dirs.Root))
}

// limits returns what is kept from pods without being there. With some of it the node does not start; the rest has no effect.
func limits(r config.Reserved, has admit.Machine, capacities health.Reading) (all []hostruntime.Finding) {
	disk, _ := capacities.Signal(health.NodeFsAvailable)
	has.Disk = disk.Capacity
	terms := offering.Terms{Reserved: admit.Reserved{Kube: r.Kube, System: r.System, HoldAll: r.HoldAll, Eviction: r.Eviction}}
	_, refused := terms.Offer(offering.Facts{Machine: has})
	if refused != nil {
		all = append(all, hostruntime.Finding{
			Name: "reservations", Required: true, Problem: once(refused), Remedy: "keep less from pods: the node does not start",
		})
	}
	_, never := health.Split(r.Rules, capacities)
	for _, b := range never {
		if told := refused != nil && b.Grace == 0 && health.Resource(b.Signal) != ""; !told {
			all = append(all, hostruntime.Finding{Name: b.Setting(), Problem: b.Problem(), Remedy: b.Remedy()})
		}
	}
	return all
}

// signals returns the capacities of a machine. Where images lie, only the runtime knows.
func signals(has admit.Machine, root string) (r health.Reading) {
	r.Signals = []health.Signal{
		{Name: health.MemoryAvailable, Capacity: has.Memory}, {Name: health.PIDAvailable, Capacity: has.PIDs},
	}
	for {
		var disk unix.Statfs_t
		err := unix.Statfs(root, &disk)
		if err == nil {
			return health.Reading{Signals: append(r.Signals,
				health.Signal{Name: health.NodeFsAvailable, Capacity: int64(disk.Blocks) * disk.Bsize},
				health.Signal{Name: health.NodeFsInodesFree, Capacity: int64(disk.Files)},
			)}
		}
		if root == "/" || root == "." {
			return r
		}
		root = filepath.Dir(root) // it is made at the first start
	}
}

// once returns the lines of an error, each once: a resource may be short for single pods and for all of them.
func once(err error) string {
	var all []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	return strings.Join(all, ", ")
}
