package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"nodal/host/cri"
	"nodal/host/image"
	"nodal/host/registry"
	"nodal/node"
	"nodal/reconciler/gc"
	"nodal/server"
)

// Runtime is the image service of the container runtime.
type Runtime interface {
	ListImages(context.Context) ([]node.LocalImage, error)
	Image(ctx context.Context, ref string) (*node.LocalImage, error)
	Pull(ctx context.Context, ref string, as *node.Credential) (node.LocalImage, error)
	CountPulled(ctx context.Context, pulls []node.Pull) error
}

// Shelf shows, imports and removes the images that the runtime and the node's own registry have.
type Shelf struct {
	Runtime   Runtime
	Endpoint  string // of the runtime
	Puller    *image.Puller
	Collector *gc.Collector
	Store     *registry.Store // of the node's registry; nil if the runtime does not pull from there
	Log       *slog.Logger
}

var (
	_ Runtime       = (*cri.Images)(nil)
	_ server.Images = (*Shelf)(nil)
)

// List returns the images that the runtime has.
func (s *Shelf) List(ctx context.Context) ([]node.LocalImage, error) {
	return s.Runtime.ListImages(ctx)
}

// countTimeout bounds how long a list of pulls waits for the runtime's count.
const countTimeout = 5 * time.Second

// Pulls returns the pulls under way. If the runtime does not count their bytes, it leaves them out: a missing count is no
// reason to fail.
func (s *Shelf) Pulls(ctx context.Context) []node.Pull {
	pulls := s.Puller.Pulls()
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	if err := s.Runtime.CountPulled(ctx, pulls); err != nil && !errors.Is(err, node.ErrUnsupported) {
		s.Log.Debug("cannot measure the progress of pulls", "err", err)
	}
	return pulls
}

// Pull pulls an image that no pod has asked for.
func (s *Shelf) Pull(ctx context.Context, image string) (node.LocalImage, error) {
	return s.Puller.Fetch(ctx, image)
}

// PrunePlan returns the images that Prune would remove.
func (s *Shelf) PrunePlan(ctx context.Context) ([]node.ImageRemoval, error) {
	return s.Collector.PrunePlan(ctx)
}

// Prune removes the images that nothing uses.
func (s *Shelf) Prune(ctx context.Context) ([]node.ImageRemoval, error) {
	return s.Collector.Prune(ctx)
}

// Remove removes an image from the runtime, which knows whether it is in use, and then from the node's registry. From
// there, the next pull would bring it back.
func (s *Shelf) Remove(ctx context.Context, image string) (node.LocalImage, error) {
	found, err := s.Runtime.Image(ctx, image)
	if err != nil {
		return node.LocalImage{}, err
	}
	var gone node.LocalImage
	if found != nil {
		if gone, err = s.Collector.Remove(ctx, found.ID); err != nil {
			return node.LocalImage{}, err
		}
	}
	if s.Store != nil {
		kept, err := s.Store.Remove(cmp.Or(gone.ID, image))
		if err != nil {
			return node.LocalImage{}, err
		}
		if found == nil {
			gone.References = kept
		}
	}
	if len(gone.ID)+len(gone.References) == 0 {
		return node.LocalImage{}, fmt.Errorf("the image is not on this node: %w", node.ErrNotFound)
	}
	return gone, nil
}
