package cri

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	crierrors "k8s.io/cri-api/pkg/errors"

	"nodal/node"
)

// Images reads, pulls and removes the images of the container runtime.
type Images struct{ conn *Conn }

// NewImages makes the Images of a runtime.
func NewImages(conn *Conn) *Images { return &Images{conn} }

// ListImages lists the images on the machine.
func (i *Images) ListImages(ctx context.Context) ([]node.LocalImage, error) {
	ctx, cancel := i.conn.request(ctx)
	defer cancel()
	reply, err := i.conn.images.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return nil, explain(err, "list images")
	}
	var images []node.LocalImage
	for _, image := range reply.GetImages() {
		images = append(images, localImage(image))
	}
	return images, nil
}

// Image finds an image on the machine, by a reference or an id. It returns nil if the image is
// absent.
func (i *Images) Image(ctx context.Context, ref string) (*node.LocalImage, error) {
	found, err := i.status(ctx, ref)
	if err != nil {
		return nil, judge(err, node.ImageInspectError, "inspect image "+ref)
	}
	if found == nil {
		return nil, nil
	}
	image := localImage(found)
	return &image, nil
}

func (i *Images) status(ctx context.Context, ref string) (*runtimeapi.Image, error) {
	ctx, cancel := i.conn.request(ctx)
	defer cancel()
	reply, err := i.conn.images.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{
		Image: &runtimeapi.ImageSpec{Image: ref},
	})
	if err != nil || reply.GetImage().GetId() == "" {
		return nil, err
	}
	return reply.GetImage(), nil
}

func localImage(i *runtimeapi.Image) node.LocalImage {
	return node.LocalImage{
		ID: i.GetId(), References: i.GetRepoTags(), Digests: i.GetRepoDigests(),
		Size: int64(i.GetSize()), Pinned: i.GetPinned(),
	}
}

// Pull pulls a reference even if the image is there. Without a credential it pulls anonymously. It has no deadline: a
// big image over a slow line is no fault.
func (i *Images) Pull(ctx context.Context, ref string, as *node.Credential) (node.LocalImage, error) {
	var header, trailer metadata.MD
	reply, err := i.conn.images.PullImage(ctx,
		&runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: ref}, Auth: authConfig(as)},
		grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		// A registry that cannot be reached makes the runtime answer Unavailable
		// too. With an answer, the pull is over, whatever its code says.
		answered := len(header)+len(trailer) > 0 && ctx.Err() == nil
		if answered {
			err = i.pullReason(ctx, err, ref, as)
		}
		return node.LocalImage{}, judgePull(err, answered, ref)
	}
	// Some runtimes answer with a digest of the manifest, which is no image id.
	image, err := i.Image(ctx, ref)
	if err != nil || image == nil {
		return node.LocalImage{ID: reply.GetImageRef()}, nil
	}
	image.ID = cmp.Or(image.ID, reply.GetImageRef())
	return *image, nil
}

// authConfig translates a credential. It names no server: the credential was chosen for the reference.
func authConfig(as *node.Credential) *runtimeapi.AuthConfig {
	if as == nil {
		return nil
	}
	return &runtimeapi.AuthConfig{
		Username: as.Username, Password: as.Password,
		IdentityToken: as.IdentityToken, RegistryToken: as.RegistryToken,
	}
}

func judgePull(err error, answered bool, ref string) error {
	doing := "pull image " + ref
	if !answered {
		return judge(err, node.ErrImagePull, doing)
	}
	reason := node.ErrImagePull
	for _, known := range []error{crierrors.ErrRegistryUnavailable, crierrors.ErrSignatureValidationFailed} {
		if strings.HasPrefix(err.Error(), known.Error()) {
			reason = known.Error()
		}
	}
	return failure(reason, fmt.Errorf("%s: %w", doing, err))
}

// RemoveImage removes an image under all its names. A missing image is no error.
func (i *Images) RemoveImage(ctx context.Context, id string) error {
	ctx, cancel := i.conn.request(ctx)
	defer cancel()
	_, err := i.conn.images.RemoveImage(ctx, &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: id}})
	if err != nil && !missing(err) {
		return explain(err, "remove image "+id)
	}
	return nil
}
