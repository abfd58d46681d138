package cri

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	crierrors "k8s.io/cri-api/pkg/errors"

	"nodal/node"
)

// ensureImage has an image on the machine, as its pull policy says.
func (r *Runtime) ensureImage(ctx context.Context, a node.EnsureImage) (node.Result, error) {
	ref, err := normalReference(a.Ref)
	if err != nil {
		return node.Result{}, failure(reasonInvalidImage, err)
	}
	if a.Policy != corev1.PullAlways {
		image, err := r.imageStatus(ctx, ref)
		if err != nil {
			return node.Result{}, judge(err, reasonInspectImage, "inspect image "+ref)
		}
		if image != nil {
			return node.Result{ID: image.GetId(), Note: "already present"}, nil
		}
	}
	if a.Policy == corev1.PullNever {
		err := fmt.Errorf("image %q is not on the machine and its pull policy is Never", ref)
		return node.Result{}, failure(reasonNeverPull, err)
	}
	pulled, err := r.pulls.do(ctx, ref)
	if err != nil {
		return node.Result{}, err
	}
	return node.Result{ID: pulled.id, Note: pulled.note()}, nil
}

// imageStatus finds an image on the machine, or nil.
func (r *Runtime) imageStatus(ctx context.Context, ref string) (*runtimeapi.Image, error) {
	ctx, cancel := r.request(ctx)
	defer cancel()
	reply, err := r.images.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: ref}})
	if err != nil {
		return nil, err
	}
	if reply.GetImage().GetId() == "" {
		return nil, nil
	}
	return reply.GetImage(), nil
}

// pulledImage is what a pull brought.
type pulledImage struct {
	id   string
	size uint64
	took time.Duration
}

func (p pulledImage) note() string {
	took := p.took.Round(100 * time.Millisecond)
	if took == 0 {
		took = p.took.Round(time.Millisecond)
	}
	if p.size == 0 {
		return fmt.Sprintf("pulled in %s", took)
	}
	return fmt.Sprintf("pulled in %s, %s", took, byteCount(p.size))
}

func byteCount(bytes uint64) string {
	const mebi = 1 << 20
	if bytes >= mebi {
		return fmt.Sprintf("%d MiB", (bytes+mebi/2)/mebi)
	}
	return resource.NewQuantity(int64((bytes+1023)/1024*1024), resource.BinarySI).String() + "B"
}

// pullImage pulls without a deadline: a big image over a thin line is no fault.
func (r *Runtime) pullImage(ctx context.Context, ref string) (pulledImage, error) {
	begin := time.Now()
	var header, trailer metadata.MD
	reply, err := r.images.PullImage(ctx,
		&runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: ref}},
		grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		// A registry that cannot be reached makes the runtime answer Unavailable
		// too. With an answer, the pull is over, whatever its code says.
		answered := len(header)+len(trailer) > 0 && ctx.Err() == nil
		return pulledImage{}, judgePull(err, answered, ref)
	}
	pulled := pulledImage{id: reply.GetImageRef(), took: time.Since(begin)}
	// Some runtimes answer with a digest of the manifest, which is no image id.
	if image, err := r.imageStatus(ctx, ref); err == nil && image != nil {
		pulled.id, pulled.size = cmp.Or(image.GetId(), pulled.id), image.GetSize()
	}
	return pulled, nil
}

func judgePull(err error, answered bool, ref string) error {
	doing := "pull image " + ref
	if !answered {
		return judge(err, reasonPull, doing)
	}
	reason := reasonPull
	for _, known := range []error{crierrors.ErrRegistryUnavailable, crierrors.ErrSignatureValidationFailed} {
		if strings.HasPrefix(answer{err}.Error(), known.Error()) {
			reason = known.Error()
		}
	}
	return failure(reason, fmt.Errorf("%s: %w", doing, answer{err}))
}
