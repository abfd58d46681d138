package stats

import (
	"context"
	"fmt"
	"time"

	"github.com/google/cadvisor/lib/model"
	"golang.org/x/sys/unix"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// rootDisk reads the file system of the node's own files.
func (c *Collector) rootDisk(context.Context) (func(*collection), error) {
	disk, err := diskAt(c.config.Root)
	if err != nil {
		return nil, err
	}
	return func(s *collection) {
		s.Node.Fs, s.disks = disk, append(s.disks, fileSystem(c.config.Root, disk))
	}, nil
}

// imageDisk reads the file system of images and of the writable layers of containers: with one snapshotter these are
// the same.
func (c *Collector) imageDisk(ctx context.Context) (func(*collection), error) {
	from, err := c.config.Runtime.ImageUsage(ctx)
	if err != nil {
		return nil, err
	}
	disk, err := diskAt(from.GetFsId().GetMountpoint())
	if err != nil {
		return nil, err
	}
	images := *disk
	images.Time = stamp(from.GetTimestamp())
	images.UsedBytes = value(from.GetUsedBytes()) // of images alone
	images.InodesUsed = value(from.GetInodesUsed())
	return func(s *collection) {
		s.Node.Runtime = &statsapi.RuntimeStats{ImageFs: &images, ContainerFs: disk}
		s.containerDisk = new(fileSystem(from.GetFsId().GetMountpoint(), disk))
	}, nil
}

// fileSystem returns a disk in cAdvisor's terms.
func fileSystem(path string, disk *statsapi.FsStats) model.FsStats {
	return model.FsStats{
		Device: deviceOf(path), Limit: *disk.CapacityBytes, Usage: *disk.UsedBytes, Available: *disk.AvailableBytes,
		HasInodes: true, Inodes: *disk.Inodes, InodesFree: *disk.InodesFree,
	}
}

// deviceOf returns the name of the device that a file lies on, or its number if it has no name, as in memory.
func deviceOf(path string) string {
	var file unix.Stat_t
	if err := unix.Stat(path, &file); err != nil {
		return ""
	}
	return deviceName(fmt.Sprintf("%d:%d", unix.Major(file.Dev), unix.Minor(file.Dev)))
}

func diskAt(path string) (*statsapi.FsStats, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(path, &disk); err != nil {
		return nil, fmt.Errorf("ask how full %s is: %w", path, err)
	}
	size := uint64(disk.Bsize)
	free, capacity, used := disk.Bavail*size, disk.Blocks*size, (disk.Blocks-disk.Bfree)*size
	inodesFree, inodes, inodesUsed := disk.Ffree, disk.Files, disk.Files-disk.Ffree
	return &statsapi.FsStats{
		Time: at(time.Now()), AvailableBytes: &free, CapacityBytes: &capacity, UsedBytes: &used,
		InodesFree: &inodesFree, Inodes: &inodes, InodesUsed: &inodesUsed,
	}, nil
}
