package cri

import (
	"context"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Image is an image on the machine.
type Image struct {
	ID         string
	References []string // with a tag
	Digests    []string // references with a digest
	Size       int64    // bytes
	Pinned     bool     // the runtime never gives it up
}

// ListImages lists what is on the machine.
func (r *Runtime) ListImages(ctx context.Context) ([]Image, error) {
	ctx, cancel := r.request(ctx)
	defer cancel()
	reply, err := r.images.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return nil, explain(err, "list images")
	}
	var images []Image
	for _, i := range reply.GetImages() {
		images = append(images, Image{
			ID: i.GetId(), References: i.GetRepoTags(), Digests: i.GetRepoDigests(),
			Size: int64(i.GetSize()), Pinned: i.GetPinned(),
		})
	}
	return images, nil
}

// PullImage pulls a reference, whatever is there, and returns the image's id. It
// joins no pull that is under way: that one may have asked before the reference
// meant what it means now.
func (r *Runtime) PullImage(ctx context.Context, reference string) (id string, err error) {
	ref, err := normalReference(reference)
	if err != nil {
		return "", fmt.Errorf("pull image: %w", err)
	}
	pulled, err := r.pullImage(ctx, ref)
	return pulled.id, err
}
