package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// follower prints a log while it is being written.
//
// The kubelet rotates by renaming the file and having the runtime open a new one
// under the old name. The runtime may still hold lines for the old file at that
// time, so the old file stays open, and is looked into, until the next rotation.
type follower struct {
	path    string
	current *source
	former  *source // the file before it; nil before the first rotation
	out     *printer
}

// follow prints src and whatever succeeds it at path. It closes src.
func follow(ctx context.Context, path string, src *source, out *printer) error {
	f := &follower{path: path, current: src, out: out}
	defer f.close()
	if _, err := src.seekTail(out.opts); err != nil {
		return err
	}
	changes := watch(filepath.Dir(path))
	defer changes.close()
	for {
		// Ask before reading: what an exited container wrote is all there.
		exited := isClosed(out.opts.Exited)
		if err := f.catchUp(ctx); err != nil {
			return err
		}
		if exited {
			return f.finish()
		}
		if err := out.flush(); err != nil {
			return err
		}
		if err := changes.wait(ctx, out.opts.Exited); err != nil {
			return fmt.Errorf("follow log %q: %w", path, err)
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// catchUp prints until it has reached the end of the newest file.
func (f *follower) catchUp(ctx context.Context) error {
	for {
		if f.former != nil {
			if err := f.former.drain(ctx, f.out); err != nil {
				return err
			}
		}
		if err := f.current.drain(ctx, f.out); err != nil {
			return err
		}
		more, err := f.advance()
		if err != nil || !more {
			return err
		}
	}
}

// advance goes on to the next file, or back to the start of one that was
// truncated. It reports whether there is more to read.
func (f *follower) advance() (bool, error) {
	named, err := os.Lstat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // renamed; the runtime has yet to make a new one
	}
	if err != nil {
		return false, fmt.Errorf("look at log: %w", err)
	}
	current, err := f.current.file.Stat()
	if err != nil {
		return false, fmt.Errorf("look at log: %w", err)
	}
	if os.SameFile(current, named) {
		if current.Size() >= f.current.offset {
			return false, nil
		}
		return true, f.current.seek(0)
	}
	return f.step(current)
}

// step goes on to the file that succeeds the current one.
func (f *follower) step(current fs.FileInfo) (bool, error) {
	next, err := f.openNext(current)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // rotated at this very moment: its event is on the way
	}
	if err != nil {
		return false, err
	}
	former := f.former
	f.former, f.current = f.current, next
	if former == nil {
		return true, nil
	}
	defer former.file.Close()
	return true, former.finish(f.out)
}

// openNext opens the file that was written after the current one. That is not
// always the one at path: for a slow reader the log may have been rotated twice.
func (f *follower) openNext(current fs.FileInfo) (*source, error) {
	// Open first, look for others then: whatever is renamed in between is found.
	newest, err := openSource(f.path)
	if err != nil {
		return nil, err
	}
	path, err := f.skipped(current)
	if err == nil && path == "" {
		return newest, nil
	}
	newest.file.Close()
	if err != nil {
		return nil, err
	}
	return openSource(path)
}

// skipped finds the oldest rotated file that is newer than the current one.
func (f *follower) skipped(current fs.FileInfo) (string, error) {
	dir, base := filepath.Split(f.path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("find rotated logs: %w", err)
	}
	var path string
	var oldest fs.FileInfo
	for _, entry := range entries {
		if !isRotated(entry, base) {
			continue
		}
		info, err := entry.Info()
		if err != nil || !info.ModTime().After(current.ModTime()) || f.isOpen(info) {
			continue // gone meanwhile, or read before
		}
		if oldest == nil || info.ModTime().Before(oldest.ModTime()) {
			oldest, path = info, filepath.Join(dir, entry.Name())
		}
	}
	return path, nil
}

// isRotated tells the plain rotated siblings of a log from compressed ones.
func isRotated(entry fs.DirEntry, base string) bool {
	name := entry.Name()
	return entry.Type().IsRegular() && strings.HasPrefix(name, base+".") &&
		!strings.HasSuffix(name, ".gz") && !strings.HasSuffix(name, ".tmp")
}

// isOpen reports whether the file is the current or the former one. Late lines
// can make the former look newer than the current.
func (f *follower) isOpen(info fs.FileInfo) bool {
	for _, s := range []*source{f.current, f.former} {
		if s == nil {
			continue
		}
		if open, err := s.file.Stat(); err == nil && os.SameFile(open, info) {
			return true
		}
	}
	return false
}

// finish prints the unfinished last lines, which nobody will complete now.
func (f *follower) finish() error {
	if f.former != nil {
		if err := f.former.finish(f.out); err != nil {
			return err
		}
	}
	return f.current.finish(f.out)
}

func (f *follower) close() {
	f.current.file.Close()
	if f.former != nil {
		f.former.file.Close()
	}
}
