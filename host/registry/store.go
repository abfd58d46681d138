package registry

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nodal/node"
)

// Config says where images are kept and how many.
type Config struct {
	Dir     string
	Reserve int64 // bytes that an import leaves free on the disk; 0: 256 MiB
	Limit   int64 // bytes that the files of one tarball may have; 0: what the disk has
	// Unpacked limits the bytes that the layers of an image may unpack to, which a small tarball does not show; 0: what
	// the disk has.
	Unpacked int64
	Log      *slog.Logger
}

const (
	defaultReserve = 256 << 20
	dirMode        = 0o700
	fileMode       = 0o600
)

// Store is a set of images on disk. Its methods may be called from any goroutine,
// but one process at a time may have it open.
type Store struct {
	cfg Config

	changing sync.Mutex // held while blobs are added before their names, or removed after them

	mu    sync.RWMutex
	roots map[string]v1.Descriptor // by full reference
}

// Open opens a store or makes it. It drops an image that is not whole, logs that, and removes
// blobs that belong to no image.
func Open(cfg Config) (*Store, error) {
	if cfg.Reserve == 0 {
		cfg.Reserve = defaultReserve
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	s := &Store{cfg: cfg}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open image store %s: %w", cfg.Dir, err)
	}
	return s, nil
}

func (s *Store) open() error {
	if err := os.RemoveAll(s.staging()); err != nil {
		return err
	}
	for _, dir := range []string{s.blobs(), s.staging()} {
		if err := os.MkdirAll(dir, dirMode); err != nil {
			return err
		}
	}
	if err := s.writeLayout(); err != nil {
		return err
	}
	if err := s.readIndex(); err != nil {
		return err
	}
	return s.sweep(s.wanted())
}

// writeLayout says what the directory is. What stands there already is not written again: the disk may be full.
func (s *Store) writeLayout() error {
	const layout = `{"imageLayoutVersion":"1.0.0"}`
	file := filepath.Join(s.cfg.Dir, "oci-layout")
	if text, err := os.ReadFile(file); err == nil && string(text) == layout {
		return nil
	}
	return os.WriteFile(file, []byte(layout), fileMode)
}

func (s *Store) blobs() string   { return filepath.Join(s.cfg.Dir, "blobs", "sha256") }
func (s *Store) staging() string { return filepath.Join(s.cfg.Dir, "staging") }

// wanted drops images with missing parts, and returns the digests of the others. It returns
// nil if an image could not be read.
func (s *Store) wanted() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	digests := map[string]bool{}
	for reference, root := range s.roots {
		tree, err := readTree(s, root)
		if err != nil && !damaged(err) {
			s.cfg.Log.Warn("cannot read an imported image; unused blobs stay on disk", "image", reference, "err", err)
			return nil
		}
		if err != nil {
			s.cfg.Log.Warn("an imported image is damaged and no longer served; import it again", "image", reference, "err", err)
			delete(s.roots, reference)
			continue
		}
		for _, blob := range tree.blobs {
			digests[blob.Digest.Hex] = true
		}
	}
	return digests
}

// sweep removes blobs that are not wanted. Without that knowledge it removes none.
func (s *Store) sweep(wanted map[string]bool) error {
	if wanted == nil {
		return nil
	}
	entries, err := os.ReadDir(s.blobs())
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if !wanted[entry.Name()] {
			errs = append(errs, os.Remove(filepath.Join(s.blobs(), entry.Name())))
		}
	}
	return errors.Join(errs...)
}

// path returns the place of a blob. Not every hash that a client sends names a file.
func (s *Store) path(digest v1.Hash) (string, error) {
	if digest.Algorithm != "sha256" || len(digest.Hex) != 64 || strings.Trim(digest.Hex, "0123456789abcdef") != "" {
		return "", fmt.Errorf("digest %s is no SHA-256: %w", digest, node.ErrInvalid)
	}
	path := filepath.Join(s.blobs(), digest.Hex)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("blob %s: %w", digest, node.ErrNotFound)
	} else if err != nil {
		return "", err
	}
	return path, nil
}

// root returns the root of a full reference.
func (s *Store) root(reference string) (v1.Descriptor, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	root, ok := s.roots[reference]
	return root, ok
}
