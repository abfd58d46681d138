package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"nodal/node"
)

// follower prints a log while it is being written.
//
// The kubelet rotates by renaming the file and having the runtime open a new one
// under the old name. The runtime may still hold lines for the old file at that
// time, so the old file stays open, and is looked into, until the next rotation.
type follower struct {
	place
	current *source
	former  *source // the file before it; nil before the first rotation
	last    string  // stamp of the newest file that is older than the current one
	out     *printer
}

// follow prints the past, src and whatever succeeds it at the same path. It
// closes src.
func follow(ctx context.Context, old past, src *source, out *printer) error {
	f := &follower{place: old.place, current: src, last: old.last(), out: out}
	defer f.close()
	if err := old.print(ctx, src, out); err != nil {
		return err
	}
	changes := watch(filepath.Dir(old.path))
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
			return fmt.Errorf("follow log %q: %w", f.path, err)
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
	named, err := f.lstat("")
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
	if errors.Is(err, node.ErrNotFound) {
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
	newest, err := openSource(f.place, "")
	if err != nil {
		return nil, err
	}
	stamp, err := f.following(current)
	if err == nil && stamp == "" {
		return newest, nil
	}
	newest.file.Close()
	if err != nil {
		return nil, err
	}
	return openRotated(f.place, stamp)
}

// following returns the stamp of the file that was rotated away after the current one, or
// "".
func (f *follower) following(current fs.FileInfo) (string, error) {
	stamps, err := f.stamps()
	if err != nil {
		return "", err
	}
	stamps = slices.DeleteFunc(stamps, func(stamp string) bool { return stamp <= f.last })
	if i := slices.IndexFunc(stamps, func(stamp string) bool { return f.isCurrent(stamp, current) }); i >= 0 {
		f.last = stamps[i]
		stamps = stamps[i+1:]
	}
	if len(stamps) == 0 {
		return "", nil
	}
	return stamps[0], nil
}

// isCurrent reports whether a stamp belongs to the current file. A packed file is another
// one, with the time of the old.
func (f *follower) isCurrent(stamp string, current fs.FileInfo) bool {
	if f.current.stamp != "" {
		return f.current.stamp == stamp
	}
	if plain, err := f.lstat("." + stamp); err == nil {
		return os.SameFile(plain, current)
	}
	packed, err := f.lstat("." + stamp + packedSuffix)
	return err == nil && packed.ModTime().Equal(current.ModTime())
}

// finish prints the unfinished last lines, which stay as they are.
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
