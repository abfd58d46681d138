package cri

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// ImagesInUse returns the ids and names of the images that containers are made from, running or not. The image of
// sandboxes is among them if the runtime reports it.
func (i *Images) ImagesInUse(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := i.conn.request(ctx)
	defer cancel()
	reply, err := i.conn.runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return nil, explain(err, "list containers")
	}
	used := map[string]bool{}
	for _, c := range reply.GetContainers() {
		used[c.GetImageId()], used[c.GetImageRef()], used[c.GetImage().GetImage()] = true, true, true
	}
	sandbox, err := i.sandboxImage(ctx)
	if err != nil {
		return nil, err
	}
	used[sandbox] = true
	delete(used, "")
	return used, nil
}

// sandboxImage reads the sandbox image from containerd's configuration. It is empty for newer versions, which pin the
// image.
func (i *Images) sandboxImage(ctx context.Context) (string, error) {
	config, err := i.conn.configuration(ctx)
	return config.SandboxImage, err
}

// ImageDisk returns the room on the disk where the runtime keeps images.
func (i *Images) ImageDisk(ctx context.Context) (capacity, available int64, err error) {
	ctx, cancel := i.conn.request(ctx)
	defer cancel()
	reply, err := i.conn.images.ImageFsInfo(ctx, &runtimeapi.ImageFsInfoRequest{})
	if err != nil {
		return 0, 0, explain(err, "find the images' file system")
	}
	if len(reply.GetImageFilesystems()) == 0 {
		return 0, 0, fmt.Errorf("find the images' file system: the runtime does not report it: %w", node.ErrUnsupported)
	}
	path := reply.GetImageFilesystems()[0].GetFsId().GetMountpoint()
	var disk unix.Statfs_t
	if err := unix.Statfs(path, &disk); err != nil {
		return 0, 0, fmt.Errorf("ask how full %s is: %w", path, err)
	}
	return int64(disk.Blocks) * disk.Bsize, int64(disk.Bavail) * disk.Bsize, nil
}
