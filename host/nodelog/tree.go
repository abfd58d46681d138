package nodelog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Tree holds the files and directories beneath a directory. A symbolic link counts if it stays in there. Other kinds of
// file, such as a FIFO that would block its reader, are refused.
type Tree string

var _ fs.FS = Tree("")

// Open opens a regular file or a directory by its path beneath the directory.
func (t Tree) Open(name string) (fs.File, error) {
	root, err := os.OpenRoot(string(t))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return open(root, filepath.FromSlash(name))
}

// open looks before it opens, since opening a device may do something, and again after that.
func open(root *os.Root, name string) (*os.File, error) {
	named, err := root.Stat(name)
	if err == nil {
		err = readable(name, named)
	}
	if err != nil {
		return nil, outside(name, err)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, outside(name, err)
	}
	opened, err := f.Stat()
	if err == nil {
		err = readable(name, opened)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readable refuses what is neither a regular file nor a directory.
func readable(name string, info fs.FileInfo) error {
	if info.IsDir() || info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("neither a regular file nor a directory: %w", fs.ErrPermission)}
}

// outside makes a permission error of the error with which an os.Root answers to what leads out of it. It has no
// name: every other error is one of the kernel's, or of this package.
func outside(name string, err error) error {
	var number unix.Errno
	if errors.As(err, &number) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: %w", errors.Unwrap(err), fs.ErrPermission)}
}
