package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"nodal/host/replace"
)

// refName is the annotation that carries a reference, in our index in full.
const refName = "org.opencontainers.image.ref.name"

func (s *Store) indexFile() string { return filepath.Join(s.cfg.Dir, "index.json") }

// readIndex reads which images the store holds. An unreadable index is set aside: it costs the
// imported images, not the start of the node.
func (s *Store) readIndex() error {
	s.roots = map[string]v1.Descriptor{}
	text, err := os.ReadFile(s.indexFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var index v1.IndexManifest
	if err := json.Unmarshal(text, &index); err != nil {
		aside := s.indexFile() + ".damaged"
		s.cfg.Log.Error("the list of imported images is damaged and set aside; import them again", "file", aside, "err", err)
		return os.Rename(s.indexFile(), aside)
	}
	for _, root := range index.Manifests {
		if reference := root.Annotations[refName]; reference != "" {
			s.roots[reference] = root
		}
	}
	return nil
}

// name points references to new roots, all or none, and removes those that drop selects.
func (s *Store) name(roots map[string]v1.Descriptor, drop func(reference string) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.roots)
	if drop != nil {
		maps.DeleteFunc(next, func(reference string, _ v1.Descriptor) bool { return drop(reference) })
	}
	for reference, root := range roots {
		next[reference] = v1.Descriptor{
			MediaType: root.MediaType, Size: root.Size, Digest: root.Digest,
			Annotations: map[string]string{refName: reference},
		}
	}
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	for _, reference := range slices.Sorted(maps.Keys(next)) {
		index.Manifests = append(index.Manifests, next[reference])
	}
	text, err := json.Marshal(index)
	if err != nil {
		return fmt.Errorf("encode the list of images: %w", err)
	}
	if err := replace.File(s.indexFile(), text, fileMode); err != nil {
		return fmt.Errorf("write the list of images: %w", noSpace(err))
	}
	s.roots = next
	return nil
}
