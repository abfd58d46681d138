package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nodal/host/replace"
	"nodal/node"
)

// Options of an import.
type Options struct {
	Name string // for the one image of the tarball, instead of its own
	// Progress gets the number of bytes of the tarball that were read, from the importing
	// goroutine. nil disables it.
	Progress func(read int64)
	May      func(reference string) error // refuses a name, before anything is kept; nil allows all
}

// found is an image of a tarball that is whole, and the names that it shall have.
type found struct {
	root       v1.Descriptor
	tree       tree
	references []string
}

// Import takes the images of a tarball, as docker save writes it or with an OCI
// layout in it, plain or compressed by gzip or zstd. It reads the stream once and
// writes each file once. All images of it become known together, or none.
func (s *Store) Import(ctx context.Context, r io.Reader, o Options) (_ []node.ImportedImage, err error) {
	if o.Name != "" {
		if _, err := fullReference(o.Name); err != nil {
			return nil, err
		}
	}
	st, err := s.newStage()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.remove()) }()
	if err := st.unpack(&meter{over: func() error { return context.Cause(ctx) }, r: r, tell: o.Progress}); err != nil {
		return nil, fmt.Errorf("read the tarball: %w", err)
	}
	images, err := st.images(o.Name)
	if err != nil {
		return nil, err
	}
	allowed, err := s.unpackedLimit()
	if err != nil {
		return nil, err
	}
	for _, image := range images {
		if err := st.checkUnpacked(image, allowed); err != nil {
			return nil, err
		}
	}
	if err := o.allow(images); err != nil {
		return nil, err
	}
	return s.commit(st, images, nil)
}

func (o Options) allow(images []found) error {
	if o.May == nil {
		return nil
	}
	for _, image := range images {
		for _, reference := range image.references {
			if err := o.May(reference); err != nil {
				return err
			}
		}
	}
	return nil
}

// unpackedLimit is the number of bytes that an image may unpack to.
func (s *Store) unpackedLimit() (int64, error) {
	if s.cfg.Unpacked > 0 {
		return s.cfg.Unpacked, nil
	}
	free, err := freeBytes(s.cfg.Dir)
	return max(0, free-s.cfg.Reserve), err
}

// commit keeps images: first all of their content, then their names.
func (s *Store) commit(st *stage, images []found, drop func(string) bool) ([]node.ImportedImage, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	roots := map[string]v1.Descriptor{}
	var taken []node.ImportedImage
	for _, image := range images {
		for _, blob := range image.tree.blobs {
			if err := st.commit(blob, filepath.Join(s.blobs(), blob.Digest.Hex)); err != nil {
				return nil, fmt.Errorf("keep blob %s: %w", blob.Digest, err)
			}
		}
		for _, reference := range image.references {
			roots[reference] = image.root
			taken = append(taken, node.ImportedImage{
				Reference: reference, Digest: image.root.Digest.String(),
				ID: image.tree.config.Digest.String(), Size: image.tree.size(),
			})
		}
	}
	if err := replace.SyncDir(s.blobs()); err != nil {
		return nil, fmt.Errorf("keep blobs: %w", err)
	}
	if err := s.name(roots, drop); err != nil {
		return nil, err
	}
	// A name that led to another image before may have been that one's last.
	if err := s.sweep(s.wanted()); err != nil {
		s.cfg.Log.Warn("cannot remove unused blobs", "err", err)
	}
	return taken, nil
}

// meter counts bytes, ends when it has to, and reports progress.
type meter struct {
	over func() error // why it has to end; nil while it may go on
	r    io.Reader
	tell func(read int64)
	read int64
	told int64

	failed error // of the stream itself, not of what came through it
}

// tellEvery is the number of bytes between two reports of progress.
const tellEvery = 1 << 20

func (m *meter) Read(p []byte) (int, error) {
	if err := m.over(); err != nil {
		m.failed = err
		return 0, err
	}
	n, err := m.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		m.failed = err
	}
	m.read += int64(n)
	if m.tell != nil && m.read-m.told >= tellEvery {
		m.told = m.read
		m.tell(m.read)
	}
	return n, err
}
