package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

const (
	dirMode  = 0o700
	fileMode = 0o600
)

// disk makes all changes of the journal to the file system. A test has its own, to fail or to stop at any of them.
type disk interface {
	// create writes a file whole and syncs it; when it fails, no file is left.
	create(path string, data []byte) error
	// overwrite replaces the content of a longer file, in its place, and syncs it.
	overwrite(path string, data []byte) error
	mkdir(path string) error
	link(from, to string) error
	rename(from, to string) error
	remove(path string) error
	// sync makes the entries of a directory durable.
	sync(dir string) error
}

var _ disk = osDisk{}

type osDisk struct{}

func (osDisk) create(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func (osDisk) overwrite(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Truncate(int64(len(data)))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (osDisk) mkdir(path string) error      { return os.Mkdir(path, dirMode) }
func (osDisk) link(from, to string) error   { return os.Link(from, to) }
func (osDisk) rename(from, to string) error { return os.Rename(from, to) }
func (osDisk) remove(path string) error     { return os.Remove(path) }

func (osDisk) sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// isFull reports whether an error means that the disk or our quota is full.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// unlessMissing returns the error unless it means that the file is missing.
func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// tree makes directories that are durable below a root. It remembers them: a
// directory that is merely there may be another commit's, not yet synced.
type tree struct {
	disk disk
	root string

	mu      sync.Mutex
	durable map[string]bool
}

func newTree(d disk, root string) *tree {
	return &tree{disk: d, root: root, durable: map[string]bool{root: true}}
}

// make makes a directory and its parents up to the root.
func (t *tree) make(dir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.makeLocked(dir)
}

func (t *tree) makeLocked(dir string) error {
	if t.durable[dir] {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := t.makeLocked(parent); err != nil {
		return err
	}
	if err := t.disk.mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := t.disk.sync(parent); err != nil {
		return err
	}
	t.durable[dir] = true
	return nil
}
