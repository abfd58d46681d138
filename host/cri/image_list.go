package cri

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// ListImages lists what is on the machine.
func (r *Runtime) ListImages(ctx context.Context) ([]node.LocalImage, error) {
	ctx, cancel := r.request(ctx)
	defer cancel()
	reply, err := r.images.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return nil, explain(err, "list images")
	}
	var images []node.LocalImage
	for _, i := range reply.GetImages() {
		images = append(images, localImage(i))
	}
	return images, nil
}

func localImage(i *runtimeapi.Image) node.LocalImage {
	return node.LocalImage{
		ID: i.GetId(), References: i.GetRepoTags(), Digests: i.GetRepoDigests(),
		Size: int64(i.GetSize()), Pinned: i.GetPinned(),
	}
}
