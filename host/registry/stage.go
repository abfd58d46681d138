package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"nodal/node"
)

// stage holds the files of one import until it is known which are wanted. Files
// are known by their digest; how they were called in the tarball is only noted.
type stage struct {
	dir   string
	room  *room
	files map[v1.Hash]string
	names map[string]v1.Descriptor // of the tarball's files, without media types
	links map[string]string        // of the tarball, to names
	next  int
}

var _ content = (*stage)(nil)

func (s *Store) newStage() (*stage, error) {
	dir, err := os.MkdirTemp(s.staging(), "import-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the import: %w", noSpace(err))
	}
	return &stage{
		dir:   dir,
		room:  &room{dir: dir, reserve: s.cfg.Reserve, limit: s.cfg.Limit},
		files: map[v1.Hash]string{}, names: map[string]v1.Descriptor{}, links: map[string]string{},
	}, nil
}

func (st *stage) remove() error { return os.RemoveAll(st.dir) }

// add writes a file and returns its descriptor. The same content is kept once.
func (st *stage) add(r io.Reader) (v1.Descriptor, error) {
	st.next++
	path := filepath.Join(st.dir, strconv.Itoa(st.next))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return v1.Descriptor{}, noSpace(err)
	}
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(st.room, f, hash), r)
	if err := errors.Join(err, f.Close()); err != nil {
		return v1.Descriptor{}, noSpace(err)
	}
	digest := v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(hash.Sum(nil))}
	if _, twice := st.files[digest]; twice {
		err = os.Remove(path)
	} else {
		st.files[digest] = path
	}
	return v1.Descriptor{Digest: digest, Size: size}, err
}

// path returns the place of a staged file.
func (st *stage) path(digest v1.Hash) (string, error) {
	path, ok := st.files[digest]
	if !ok {
		return "", fmt.Errorf("the tarball has no blob %s: is it cut short? %w", digest, node.ErrInvalid)
	}
	return path, nil
}

// commit moves a wanted file to where it stays, and makes its content durable. The
// entry in the directory is for the caller to sync.
func (st *stage) commit(blob v1.Descriptor, path string) error {
	staged, err := find(st, blob)
	if err != nil {
		return err
	}
	f, err := os.Open(staged)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return noSpace(err)
	}
	if err := os.Rename(staged, path); err != nil {
		return noSpace(err)
	}
	st.files[blob.Digest] = path // another image of the tarball may share it
	return nil
}

// room is a writer that refuses what would fill the disk or go beyond the limit.
type room struct {
	dir     string
	reserve int64
	limit   int64
	written int64
	checked int64 // where the disk was asked last
	asked   bool
}

// checkEvery is the number of bytes between two looks at the free space.
const checkEvery = 16 << 20

func (r *room) Write(p []byte) (int, error) {
	r.written += int64(len(p))
	if r.limit > 0 && r.written > r.limit {
		return 0, fmt.Errorf("the images are more than the %d bytes that are taken: %w", r.limit, node.ErrTooLarge)
	}
	if r.asked && r.written-r.checked < checkEvery {
		return len(p), nil
	}
	r.asked, r.checked = true, r.written
	free, err := freeBytes(r.dir)
	if err != nil {
		return 0, err
	}
	if free < r.reserve+checkEvery {
		return 0, fmt.Errorf("the disk of %s has %d bytes left, of which %d are kept free: %w", r.dir, free, r.reserve, node.ErrNoSpace)
	}
	return len(p), nil
}

func freeBytes(dir string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, fmt.Errorf("ask how much space is free on %s: %w", dir, err)
	}
	return int64(fs.Bavail) * fs.Bsize, nil
}

// noSpace gives a full disk its kind.
func noSpace(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", err, node.ErrNoSpace)
	}
	return err
}
