package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nodal/node"
)

// Remove forgets an image of this name or id under all of its names, removes the blobs that no
// other image needs, and returns the names. It returns none if the image is not here. A crash
// in between leaves blobs, which Open sweeps.
func (s *Store) Remove(image string) (references []string, err error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	id := s.idOf(image)
	for reference, root := range s.all() {
		if id != "" && s.id(root) == id {
			references = append(references, reference)
		}
	}
	if len(references) == 0 {
		return nil, nil
	}
	slices.Sort(references)
	if strings.HasPrefix(references[0], pauseRepository+":") {
		return nil, fmt.Errorf("%s holds pods open: %w", references[0], node.ErrConflict)
	}
	gone := func(reference string) bool { return slices.Contains(references, reference) }
	if err := s.name(nil, gone); err != nil {
		return nil, err
	}
	if err := s.sweep(s.wanted()); err != nil {
		return nil, fmt.Errorf("remove the blobs of image %s: %w", image, err)
	}
	return references, nil
}

// idOf returns the id of an image that is asked for by its id or by one of its names.
func (s *Store) idOf(image string) string {
	if _, err := v1.NewHash(image); err == nil {
		return image
	}
	reference, err := fullReference(image)
	if err != nil {
		return ""
	}
	root, ok := s.root(reference)
	if !ok {
		return ""
	}
	return s.id(root)
}

// id returns the runtime's id for the image of a root, or "" if it is not whole.
func (s *Store) id(root v1.Descriptor) string {
	tree, err := readTree(s, root)
	if err != nil {
		return ""
	}
	return tree.config.Digest.String()
}

// all are the roots by reference, as they are now.
func (s *Store) all() map[string]v1.Descriptor {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.roots)
}
