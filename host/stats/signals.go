package stats

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node/health"
)

// placeAge is the age up to which the signals remember where images lie: they may be measured many times a second.
const placeAge = 10 * time.Second

// place holds the directory of the images, as the runtime said last.
type place struct {
	dir   string
	asked time.Time
}

// Signals returns what is left of the resources that a node can run short of, and the resources that it could not
// read. It must not be called concurrently.
func (c *Collector) Signals(ctx context.Context) health.Reading {
	var found collection
	all := []part{
		{health.MemoryAvailable, c.memory}, {health.AllocatableMemoryAvailable, c.podsMemory},
		{health.NodeFsAvailable, c.rootDisk}, {health.ImageFsAvailable, c.imagePlace}, {health.PIDAvailable, c.processes},
	}
	var r health.Reading
	for i, err := range c.short.each(ctx, all, &found) {
		if err != nil {
			r.Unread = append(r.Unread, health.Unread{Name: all[i].name, Why: err.Error()})
		}
	}
	if memory := found.Node.Memory; memory != nil {
		r.Signals = append(r.Signals, memorySignal(health.MemoryAvailable, memory))
	}
	for i := range found.Node.SystemContainers {
		r.Signals = append(r.Signals, memorySignal(health.AllocatableMemoryAvailable, found.Node.SystemContainers[i].Memory))
	}
	if disk := found.Node.Fs; disk != nil {
		r.Signals = append(r.Signals, diskSignals("nodefs", disk)...)
	}
	if images := found.Node.Runtime; images != nil {
		r.Signals = append(r.Signals, diskSignals("imagefs", images.ImageFs)...)
		r.Signals = append(r.Signals, diskSignals("containerfs", images.ContainerFs)...)
		r.Apart = !sameDisk(c.config.Root, c.images.dir)
	}
	if tasks := found.Node.Rlimit; tasks != nil {
		r.Signals = append(r.Signals, health.Signal{
			Name: health.PIDAvailable, Left: *tasks.MaxPID - *tasks.NumOfRunningProcesses, Capacity: *tasks.MaxPID,
		})
	}
	return r
}

func memorySignal(name string, memory *statsapi.MemoryStats) health.Signal {
	return health.Signal{
		Name: name, Left: int64(*memory.AvailableBytes), Capacity: int64(*memory.AvailableBytes + *memory.WorkingSetBytes),
	}
}

// diskSignals returns the signals of a disk. Without a count of inodes it has none for them.
func diskSignals(name string, disk *statsapi.FsStats) []health.Signal {
	signals := []health.Signal{{Name: name + ".available", Left: int64(*disk.AvailableBytes), Capacity: int64(*disk.CapacityBytes)}}
	if *disk.Inodes > 0 {
		signals = append(signals, health.Signal{Name: name + ".inodesFree", Left: int64(*disk.InodesFree), Capacity: int64(*disk.Inodes)})
	}
	return signals
}

// podsMemory reads what the limit of all pods together leaves of memory. Without a limit there is nothing to read.
func (c *Collector) podsMemory(context.Context) (func(*collection), error) {
	nothing := func(*collection) {}
	if c.tree.in.System == nil {
		return nothing, nil
	}
	path := c.tree.in.System()["pods"]
	if path == "" {
		return nothing, nil
	}
	if c.allPods == nil || c.allPods.path != path {
		c.allPods = &group{tree: c.tree, path: path}
	}
	r := newReader()
	limit, used := c.allPods.memoryLimit(r), c.allPods.workingSet(r)
	if limit == 0 || used == 0 {
		return nothing, nil // the cgroup has no limit, or is not made yet
	}
	left := limit - min(limit, used)
	memory := &statsapi.MemoryStats{WorkingSetBytes: &used, AvailableBytes: &left}
	return func(s *collection) {
		s.Node.SystemContainers = append(s.Node.SystemContainers, statsapi.ContainerStats{Name: "pods", Memory: memory})
	}, nil
}

// imagePlace reads the file system of images, and asks the runtime now and then where they lie.
func (c *Collector) imagePlace(ctx context.Context) (func(*collection), error) {
	if time.Since(c.images.asked) > placeAge {
		from, err := c.config.Runtime.ImageUsage(ctx)
		if err != nil {
			return nil, err
		}
		c.images = place{from.GetFsId().GetMountpoint(), time.Now()}
	}
	disk, err := diskAt(c.images.dir)
	if err != nil {
		return nil, err
	}
	return func(s *collection) { s.Node.Runtime = &statsapi.RuntimeStats{ImageFs: disk, ContainerFs: disk} }, nil
}

// sameDisk reports whether two directories lie on one file system.
func sameDisk(a, b string) bool {
	var of [2]unix.Stat_t
	return unix.Stat(a, &of[0]) == nil && unix.Stat(b, &of[1]) == nil && of[0].Dev == of[1].Dev
}
