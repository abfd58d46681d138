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
)

// refName is the annotation that carries a reference, in our index in full.
const refName = "org.opencontainers.image.ref.name"

func (s *Store) indexFile() string { return filepath.Join(s.cfg.Dir, "index.json") }

// readIndex learns what the store holds. An index that cannot be read is set
// aside: it costs what was imported, not the start of the node.
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

// name makes references lead to new roots, all or none, and takes away those that
// drop names.
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
	if err := replaceFile(s.indexFile(), filepath.Join(s.staging(), "index.json"), text); err != nil {
		return fmt.Errorf("write the list of images: %w", noSpace(err))
	}
	s.roots = next
	return nil
}

// replaceFile has the new text or the old one in a file, whatever happens. The
// text is written aside first, where a crash may leave it to be overwritten.
func replaceFile(path, aside string, text []byte) error {
	f, err := os.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(aside, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(aside))
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
