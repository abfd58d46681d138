package images

import (
	"context"
	"fmt"
	"io"

	"nodal/host/registry"
	"nodal/node"
)

// Import keeps a tarball's images in the node's registry and has the runtime pull them from there. They stay in the
// registry, so that the runtime can pull them again after they were removed to make room.
func (s *Shelf) Import(ctx context.Context, tarball io.Reader, how node.Import) ([]node.ImportedImage, error) {
	if s.Store == nil {
		return nil, fmt.Errorf("the runtime at %s is not the agent's own and does not ask it for images; "+
			"import with the runtime's tool, such as ctr -n k8s.io images import FILE: %w", s.Endpoint, node.ErrConflict)
	}
	var read int64
	kept, err := s.Store.Import(ctx, tarball, registry.Options{Name: how.Name, May: how.May, Progress: func(n int64) {
		read = n
		how.Tell(node.ImportProgress{Read: n})
	}})
	if err != nil {
		return nil, err
	}
	for _, image := range kept {
		how.Tell(node.ImportProgress{Read: read, Reference: image.Reference})
		if err := s.pull(ctx, image); err != nil {
			return nil, fmt.Errorf("image %s is kept, but not ready for pods: %w", image.Reference, err)
		}
	}
	return kept, nil
}

// pull has the runtime pull an imported image. It fails if the runtime got another image of that reference, from another
// registry.
func (s *Shelf) pull(ctx context.Context, image node.ImportedImage) error {
	pulled, err := s.Runtime.Pull(ctx, image.Reference, nil)
	if err != nil {
		return err
	}
	if id := pulled.ID; id != image.ID && id != image.Digest {
		return fmt.Errorf("the runtime took another image, %s instead of %s: "+
			"its configuration of registries does not lead to this node: %w", id, image.ID, node.ErrConflict)
	}
	return nil
}
