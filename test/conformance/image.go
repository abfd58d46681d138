package conformance

import (
	"slices"
	"testing"

	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// missingImage is on a port where no registry listens.
const missingImage = "127.0.0.1:1/missing:1"

func (p *pod) imageStatus(t *testing.T, ref string) *runtime.Image {
	t.Helper()
	response, err := p.images.ImageStatus(t.Context(), &runtime.ImageStatusRequest{Image: &runtime.ImageSpec{Image: ref}})
	if err != nil {
		t.Fatalf("status of image %q: %v", ref, err)
	}
	return response.GetImage()
}

func imageIsDescribed(t *testing.T, p *pod) {
	spec := &runtime.ImageSpec{Image: p.Image}
	pulled, err := p.images.PullImage(t.Context(), &runtime.PullImageRequest{Image: spec})
	wantSuccess(t, "pull", err)
	got := p.imageStatus(t, p.Image)
	if got.GetId() == "" || got.GetId() != pulled.GetImageRef() {
		t.Errorf("id: got %q, the pull answered %q", got.GetId(), pulled.GetImageRef())
	}
	if !slices.Contains(got.GetRepoTags(), p.Image) || len(got.GetRepoDigests()) == 0 || got.GetSize() == 0 {
		t.Errorf("got tags %v, digests %v, size %d, want %s, a digest, a size",
			got.GetRepoTags(), got.GetRepoDigests(), got.GetSize(), p.Image)
	}
	for _, ref := range append(got.GetRepoDigests(), got.GetId()) {
		if other := p.imageStatus(t, ref); other.GetId() != got.GetId() {
			t.Errorf("status of %s: got id %q, want %q", ref, other.GetId(), got.GetId())
		}
	}
	list, err := p.images.ListImages(t.Context(), &runtime.ListImagesRequest{})
	wantSuccess(t, "list", err)
	if !slices.ContainsFunc(list.GetImages(), func(i *runtime.Image) bool { return i.GetId() == got.GetId() }) {
		t.Errorf("the list of %d images lacks %s", len(list.GetImages()), got.GetId())
	}
}

func imageMissing(t *testing.T, p *pod) {
	if got := p.imageStatus(t, missingImage); got != nil {
		t.Errorf("status: got %v, want nothing", got)
	}
}

func imagePullFails(t *testing.T, p *pod) {
	_, err := p.images.PullImage(t.Context(), &runtime.PullImageRequest{Image: &runtime.ImageSpec{Image: missingImage}})
	wantFailure(t, "pull", err)
}

// imageRemoveIsIdempotent comes last: it removes the image of the other cases.
func imageRemoveIsIdempotent(t *testing.T, p *pod) {
	for range 2 {
		_, err := p.images.RemoveImage(t.Context(), &runtime.RemoveImageRequest{Image: &runtime.ImageSpec{Image: p.Image}})
		wantSuccess(t, "remove", err)
	}
	if got := p.imageStatus(t, p.Image); got != nil {
		t.Errorf("status after the removal: got %v, want nothing", got)
	}
}
