// Package replace writes files whole: a reader finds the old text or the new one, even
// after a crash or a power cut.
//
// It is the only package below host that its neighbours may import, because each of
// them would have to get the same four steps right.
package replace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File replaces the file at path.
func File(path string, content []byte, mode fs.FileMode) error {
	return From(path, bytes.NewReader(content), mode)
}

// From replaces the file at path with the content of a reader. A file may have only one writer at a time: the draft
// beside it has a fixed name, which the next attempt takes over, so that crashes do not pile up drafts.
func From(path string, content io.Reader, mode fs.FileMode) error {
	aside := path + ".new"
	err := write(aside, content, mode)
	if err == nil {
		err = os.Rename(aside, path)
	}
	if err != nil {
		os.Remove(aside)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return SyncDir(filepath.Dir(path))
}

func write(path string, content io.Reader, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	err = f.Chmod(mode) // the umask or an older draft may have changed the mode above
	if err == nil {
		_, err = io.Copy(f, content)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// SyncDir makes renames in a directory last, and last in their order.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
