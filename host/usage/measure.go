package usage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Use is the space that files take of a file system.
type Use struct {
	Bytes  int64 // of blocks that hold something: the holes of a sparse file do not count
	Inodes int64
}

// Add returns the sum of two.
func (u Use) Add(more Use) Use {
	return Use{Bytes: u.Bytes + more.Bytes, Inodes: u.Inodes + more.Inodes}
}

const (
	batch = 1000 // names that are read at once
	// deepest bounds how many directories are open at a time. More levels than that only serve to hide files.
	deepest = 2000
)

// Measure walks through a directory. A missing directory takes nothing.
func Measure(ctx context.Context, path string) (Use, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return Use{}, nil
	}
	if err != nil {
		return Use{}, fmt.Errorf("open %s to measure it: %w", path, err)
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	w := walk{seen: map[file]bool{}}
	if err := w.directory(ctx, dir, 0); err != nil {
		return Use{}, fmt.Errorf("measure %s: %w", path, err)
	}
	return w.use, nil
}

// file identifies a file.
type file struct{ device, inode uint64 }

type walk struct {
	use  Use
	seen map[file]bool // of the files that have more names than one
}

// directory counts an open directory, and all that is in it.
func (w *walk) directory(ctx context.Context, dir *os.File, depth int) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &stat); err != nil {
		return err
	}
	w.count(&stat)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		names, err := dir.Readdirnames(batch)
		for _, name := range names {
			if err := w.entry(ctx, dir, name, depth+1); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, unix.ENOENT): // at its end, or removed meanwhile
			return nil
		case err != nil:
			return err
		}
	}
}

func (w *walk) entry(ctx context.Context, parent *os.File, name string, depth int) error {
	at := int(parent.Fd())
	var stat unix.Stat_t
	switch err := unix.Fstatat(at, name, &stat, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT); {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return err
	case stat.Mode&unix.S_IFMT != unix.S_IFDIR:
		w.count(&stat)
		return nil
	case depth > deepest:
		return fmt.Errorf("directories are nested more than %d deep", deepest)
	}
	fd, err := unix.Openat2(at, name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS,
	})
	switch {
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil // a mount, or no longer the same directory
	case err != nil:
		return err
	}
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close()
	return w.directory(ctx, dir, depth)
}

// count counts a file with many names once.
func (w *walk) count(stat *unix.Stat_t) {
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR && stat.Nlink > 1 {
		this := file{stat.Dev, stat.Ino}
		if w.seen[this] {
			return
		}
		w.seen[this] = true
	}
	const block = 512 // the kernel's unit, whatever the file system's is
	w.use = w.use.Add(Use{Bytes: stat.Blocks * block, Inodes: 1})
}
