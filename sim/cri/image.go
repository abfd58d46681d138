package cri

import (
	"cmp"
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Image is one image reference that a runtime knows.
type Image struct {
	Ref       string        // "busybox", "registry.example/app:v1"
	ID        string        // "sha256:..."; made from Ref unless set
	Size      uint64        // bytes; 1 MiB unless set
	UID       *int64        // the user that the image names by number
	Username  string        // the user that the image names by name
	Pinned    bool          // garbage collection keeps it
	Local     bool          // the image is on the machine
	PullTime  time.Duration // how long a pull takes
	PullError error         // the error of a pull, if it has to fail
}

// image is an Image with all its names worked out.
type image struct {
	Image
	ref string // the full reference
	id  string
}

func newImage(spec Image) *image {
	ref := fullReference(spec.Ref)
	spec.Size = cmp.Or(spec.Size, 1<<20)
	return &image{Image: spec, ref: ref, id: cmp.Or(spec.ID, "sha256:"+digest("image "+ref))}
}

// repoDigest returns the reference by content: the repository with a digest.
func (i *image) repoDigest() string {
	return repository(i.ref) + "@sha256:" + digest("manifest "+i.id)
}

func (i *image) known(ref string) bool {
	return ref == i.id || ref == i.repoDigest() || fullReference(ref) == i.ref
}

// fullReference returns a reference with registry and tag, as containerd keeps it.
func fullReference(ref string) string {
	domain, rest, found := strings.Cut(ref, "/")
	if !found || !strings.ContainsAny(domain, ".:") && domain != "localhost" {
		domain, rest = "docker.io", ref
		if !found {
			rest = "library/" + ref
		}
	}
	if !strings.Contains(rest, ":") {
		rest += ":latest"
	}
	return domain + "/" + rest
}

// repository returns a full reference without its tag or digest.
func repository(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	if i := strings.LastIndex(ref, ":"); i > strings.LastIndex(ref, "/") {
		return ref[:i]
	}
	return ref
}

// SetImage adds an image, or replaces it.
func (s *Server) SetImage(spec Image) {
	image := newImage(spec)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.images.put(image.ref, image)
}

// localImage finds an image on the machine by reference, digest or id.
func (s *Server) localImage(ref string) *image {
	for _, image := range s.images.all() {
		if image.Local && image.known(ref) {
			return image
		}
	}
	return nil
}

// PullImage brings an image onto the machine and returns its ID.
func (s *Server) PullImage(ctx context.Context, request *runtime.PullImageRequest) (*runtime.PullImageResponse, error) {
	ref := request.GetImage().GetImage()
	s.mu.Lock()
	spec, ok := s.remoteImage(ref)
	s.mu.Unlock()
	if !ok {
		return nil, status.Errorf(codes.NotFound, "failed to pull and unpack image %q: failed to resolve reference %q: not found", ref, ref)
	}
	if err := sleep(ctx, spec.PullTime); err != nil {
		return nil, err
	}
	if spec.PullError != nil {
		return nil, status.Errorf(status.Code(spec.PullError), "failed to pull and unpack image %q: %v", ref, spec.PullError)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	spec.Local = true
	pulled := newImage(spec)
	s.images.put(pulled.ref, pulled)
	s.journal.add(Effect{Kind: ImagePulled, Image: pulled.ref})
	return &runtime.PullImageResponse{ImageRef: pulled.id}, nil
}

// remoteImage returns a registry's answer for a reference.
func (s *Server) remoteImage(ref string) (Image, bool) {
	for _, image := range s.images.all() {
		if image.known(ref) {
			return image.Image, true
		}
	}
	return Image{Ref: ref}, s.config.PullAny
}

// RemoveImage removes an image with all its references, as containerd does.
func (s *Server) RemoveImage(
	_ context.Context, request *runtime.RemoveImageRequest,
) (*runtime.RemoveImageResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.localImage(request.GetImage().GetImage())
	if found == nil {
		return &runtime.RemoveImageResponse{}, nil
	}
	for _, image := range s.images.all() {
		if image.Local && image.id == found.id {
			image.Local = false
			s.journal.add(Effect{Kind: ImageRemoved, Image: image.ref})
		}
	}
	return &runtime.RemoveImageResponse{}, nil
}
