package volume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// deepest bounds how far a removal descends, with a directory open for each level. Deeper directories are moved up
// first: a container can nest them without end, but the number of open files is limited.
const deepest = 100

// batch is the number of names that are read at once.
const batch = 1000

// removal removes one directory tree. It removes links as links, and fails at a mount point: its files are not ours.
type removal struct {
	top   int // where deep directories are moved to
	moved int
}

// removeTree removes the directory tree at a path, if there is one.
func removeTree(ctx context.Context, path string) error {
	top, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s to remove it: %w", path, err)
	}
	r := &removal{top: top}
	dir := os.NewFile(uintptr(top), path)
	defer dir.Close()
	if err := r.empty(ctx, dir, 0); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// empty removes all entries of a directory. It reads from the start after each batch: the place of a reader is
// undefined after a removal.
func (r *removal) empty(ctx context.Context, dir *os.File, depth int) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
		names, err := dir.Readdirnames(batch)
		if len(names) == 0 {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var errs []error
		for _, name := range names {
			if err := r.remove(ctx, dir, name, depth+1); err != nil {
				errs = append(errs, err)
			}
		}
		if len(errs) > 0 {
			return errors.Join(errs...)
		}
	}
}

func (r *removal) remove(ctx context.Context, parent *os.File, name string, depth int) error {
	at := int(parent.Fd())
	path := parent.Name() + "/" + name
	err := unix.Unlinkat(at, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	if depth > deepest {
		r.moved++
		return unix.Renameat(at, name, r.top, "..deep-"+strconv.Itoa(r.moved))
	}
	fd, err := unix.Openat2(at, name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, unix.EXDEV) {
		return fmt.Errorf("remove %s: something is mounted there: %w", path, err)
	}
	if err != nil {
		return fmt.Errorf("open %s to remove it: %w", path, err)
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	if err := r.empty(ctx, dir, depth); err != nil {
		return err
	}
	if err := unix.Unlinkat(at, name, unix.AT_REMOVEDIR); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}
