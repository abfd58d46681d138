package cri

import (
	"context"
	"slices"
	"time"

	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// imageMountpoint is the directory that holds images on a real machine.
const imageMountpoint = "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs"

// ImageStatus describes one image; for a missing one its answer is empty.
func (s *Server) ImageStatus(
	_ context.Context, request *runtime.ImageStatusRequest,
) (*runtime.ImageStatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.localImage(request.GetImage().GetImage())
	if found == nil {
		return &runtime.ImageStatusResponse{}, nil
	}
	return &runtime.ImageStatusResponse{Image: s.imageItem(found)}, nil
}

// ListImages lists the images on the machine, each with all its references.
func (s *Server) ListImages(
	_ context.Context, request *runtime.ListImagesRequest,
) (*runtime.ListImagesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := request.GetFilter().GetImage().GetImage()
	response := &runtime.ListImagesResponse{}
	for _, image := range s.distinctImages() {
		item := s.imageItem(image)
		if wanted == "" || image.id == wanted ||
			slices.Contains(item.RepoTags, fullReference(wanted)) || slices.Contains(item.RepoDigests, wanted) {
			response.Images = append(response.Images, item)
		}
	}
	return response, nil
}

// distinctImages returns one image for each ID on the machine.
func (s *Server) distinctImages() []*image {
	seen := map[string]bool{}
	return slices.DeleteFunc(s.images.all(), func(i *image) bool {
		skip := !i.Local || seen[i.id]
		if !skip {
			seen[i.id] = true
		}
		return skip
	})
}

func (s *Server) imageItem(found *image) *runtime.Image {
	item := &runtime.Image{
		Id: found.id, Size: found.Size, Username: found.Username, Pinned: found.Pinned,
		Spec: &runtime.ImageSpec{},
	}
	if found.UID != nil {
		item.Uid = &runtime.Int64Value{Value: *found.UID}
	}
	for _, image := range s.images.all() {
		if image.Local && image.id == found.id {
			item.RepoTags = append(item.RepoTags, image.ref)
			item.RepoDigests = append(item.RepoDigests, image.repoDigest())
		}
	}
	return item
}

// ImageFsInfo returns how much space the images take.
func (s *Server) ImageFsInfo(
	context.Context, *runtime.ImageFsInfoRequest,
) (*runtime.ImageFsInfoResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var bytes, inodes uint64
	for _, image := range s.distinctImages() {
		bytes += image.Size
		inodes += 100
	}
	usage := &runtime.FilesystemUsage{
		Timestamp:  nanos(time.Now()),
		FsId:       &runtime.FilesystemIdentifier{Mountpoint: imageMountpoint},
		UsedBytes:  &runtime.UInt64Value{Value: bytes},
		InodesUsed: &runtime.UInt64Value{Value: inodes},
	}
	response := &runtime.ImageFsInfoResponse{ImageFilesystems: []*runtime.FilesystemUsage{usage}}
	if !s.config.Legacy {
		response.ContainerFilesystems = []*runtime.FilesystemUsage{usage}
	}
	return response, nil
}
