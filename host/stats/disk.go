package stats

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// rootDisk is the file system of the node's own files.
func (c *Collector) rootDisk(context.Context) (func(*statsapi.Summary), error) {
	disk, err := diskAt(c.config.Root)
	if err != nil {
		return nil, err
	}
	return func(s *statsapi.Summary) { s.Node.Fs = disk }, nil
}

// imageDisk is the file system of images and of what containers write: with one
// snapshotter these are the same.
func (c *Collector) imageDisk(ctx context.Context) (func(*statsapi.Summary), error) {
	told, err := c.config.Runtime.ImageUsage(ctx)
	if err != nil {
		return nil, err
	}
	disk, err := diskAt(told.GetFsId().GetMountpoint())
	if err != nil {
		return nil, err
	}
	images := *disk
	images.Time = stamp(told.GetTimestamp())
	images.UsedBytes = value(told.GetUsedBytes()) // of images alone
	images.InodesUsed = value(told.GetInodesUsed())
	return func(s *statsapi.Summary) {
		s.Node.Runtime = &statsapi.RuntimeStats{ImageFs: &images, ContainerFs: disk}
	}, nil
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
