package stats

import (
	"context"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node/health"
)

// Signals returns what is left of the resources that a node can run short of, and the resources that it could not
// read. It must not be called concurrently.
func (c *Collector) Signals(ctx context.Context) ([]health.Signal, []health.Unread) {
	var found collection
	all := []part{
		{"memory.available", c.memory}, {"nodefs.available", c.rootDisk}, {"imagefs.available", c.imageDisk}, {"pid.available", c.processes},
	}
	var unread []health.Unread
	for i, err := range c.short.each(ctx, all, &found) {
		if err != nil {
			unread = append(unread, health.Unread{Name: all[i].name, Why: err.Error()})
		}
	}
	var signals []health.Signal
	if memory := found.Node.Memory; memory != nil {
		signals = append(signals, health.Signal{
			Name: "memory.available", Left: int64(*memory.AvailableBytes), Capacity: int64(*memory.AvailableBytes + *memory.WorkingSetBytes),
		})
	}
	if disk := found.Node.Fs; disk != nil {
		signals = append(signals, diskSignals("nodefs", disk)...)
	}
	if images := found.Node.Runtime; images != nil {
		signals = append(signals, diskSignals("imagefs", images.ImageFs)...)
	}
	if tasks := found.Node.Rlimit; tasks != nil {
		signals = append(signals, health.Signal{
			Name: "pid.available", Left: *tasks.MaxPID - *tasks.NumOfRunningProcesses, Capacity: *tasks.MaxPID,
		})
	}
	return signals, unread
}

// diskSignals returns the signals of a disk. Without a count of inodes it has none for them.
func diskSignals(name string, disk *statsapi.FsStats) []health.Signal {
	signals := []health.Signal{{Name: name + ".available", Left: int64(*disk.AvailableBytes), Capacity: int64(*disk.CapacityBytes)}}
	if *disk.Inodes > 0 {
		signals = append(signals, health.Signal{Name: name + ".inodesFree", Left: int64(*disk.InodesFree), Capacity: int64(*disk.Inodes)})
	}
	return signals
}
