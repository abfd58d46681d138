package runtime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// link has a path lead to containerd's socket. It leaves alone what others have there: a file, or a link to something
// that exists.
func (l layout) link(path string) error {
	to, err := os.Readlink(path)
	switch {
	case err == nil && to == l.socket():
		return nil
	case err == nil && exists(to):
		return fmt.Errorf("link to containerd's socket: %s leads to %s, which exists; remove the link if that is not in use", path, to)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("link to containerd's socket: %s is in the way: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("link to containerd's socket: %w", err)
	}
	aside := path + ".new"
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("link to containerd's socket: %w", err)
	}
	err = os.Symlink(l.socket(), aside)
	if err == nil {
		err = os.Rename(aside, path)
	}
	if err != nil {
		return fmt.Errorf("link to containerd's socket: %w", err)
	}
	return nil
}

// unlink removes a link that leads to containerd's socket.
func (l layout) unlink(path string) error {
	if to, err := os.Readlink(path); err != nil || to != l.socket() {
		return nil
	}
	return os.Remove(path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
