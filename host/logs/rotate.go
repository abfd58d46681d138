package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"nodal/node"
)

// Rotation bounds the size of running containers' logs.
type Rotation struct {
	Layout   Layout
	MaxSize  int64 // of the file that is written to
	MaxFiles int   // of one run, with the one that is written to
	Every    time.Duration
	Workers  int // logs that are rotated side by side
	Log      *slog.Logger

	// Limits returns MaxSize and MaxFiles for the next round; nil leaves them. Below zero bytes nothing is rotated.
	Limits func() (bytes int64, files int)
	// Running lists the logs that are written to.
	Running func() []Open
	// Reopen makes the runtime go on in a new file.
	Reopen func(ctx context.Context, containerID string) error
}

// Open is the log of a running container.
type Open struct {
	node.LogRun
	ContainerID string
}

// Run looks at the size of every open log at regular intervals. That costs a system call or two for each log; a watch
// would cost one for each write.
func (r Rotation) Run(ctx context.Context) {
	ticker := time.NewTicker(r.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			r.round(ctx, now)
		}
	}
}

func (r Rotation) round(ctx context.Context, now time.Time) {
	if r.Limits != nil {
		r.MaxSize, r.MaxFiles = r.Limits()
	}
	if r.MaxSize < 0 {
		return
	}
	var group errgroup.Group
	group.SetLimit(r.Workers)
	for _, log := range r.Running() {
		if r.fits(log) || ctx.Err() != nil {
			continue
		}
		group.Go(func() error {
			if err := r.rotate(ctx, log, now); err != nil {
				r.Log.Warn("cannot rotate a log", "pod", log.Key.String(), "container", log.Container, "err", err)
			}
			return nil
		})
	}
	_ = group.Wait() // failures were reported, and are tried again in the next round
}

func (r Rotation) fits(log Open) bool {
	path, err := r.Layout.Path(log.LogRun)
	if err != nil {
		return true // there can be no such log
	}
	info, err := os.Lstat(path)
	return err == nil && info.Size() <= r.MaxSize
}

// rotate renames one log and has the runtime begin a new one. It works within an os.Root of the directory: a pod that
// may write there can plant links.
func (r Rotation) rotate(ctx context.Context, log Open, now time.Time) error {
	root, err := r.Layout.open(log.LogRun)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return fmt.Errorf("open the directory of a log: %w", err)
	}
	defer root.Close()
	base := attemptFile(log.Attempt)
	info, err := root.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// An earlier rotation has renamed the log, and was cut short before this.
		return r.Reopen(ctx, log.ContainerID)
	case err != nil:
		return fmt.Errorf("look at a log: %w", err)
	case !info.Mode().IsRegular() || info.Size() <= r.MaxSize:
		return nil
	}
	stamps, err := stampsOf(root.FS(), base)
	if err != nil {
		return err
	}
	if renamed(root, info, base, stamps) {
		if err := root.Remove(base); err != nil {
			return fmt.Errorf("rename a log: %w", err)
		}
		return r.Reopen(ctx, log.ContainerID)
	}
	tidied := r.tidy(root, base, stamps)
	return errors.Join(tidied, r.turn(ctx, root, log, nextStamp(stamps, now)))
}

// renamed reports whether the log has its next name beside its old one, because a move was cut short.
func renamed(root *os.Root, log fs.FileInfo, base string, stamps []string) bool {
	if len(stamps) == 0 {
		return false
	}
	newest, err := root.Lstat(base + "." + stamps[len(stamps)-1])
	return err == nil && os.SameFile(newest, log)
}

const stampLayout = "20060102-150405"

// nextStamp returns now, or a later time if the clock was set back: readers rely on the order of stamps.
func nextStamp(stamps []string, now time.Time) string {
	stamp := now.UTC().Format(stampLayout)
	if len(stamps) == 0 || stamp > stamps[len(stamps)-1] {
		return stamp
	}
	last, err := time.Parse(stampLayout, stamps[len(stamps)-1])
	if err != nil {
		return stamp // not one of ours, and not to be overwritten: see turn
	}
	return last.Add(time.Second).Format(stampLayout)
}

// turn renames the log and has the runtime begin a new one. It never overwrites
// a file: a rename would, a link does not.
func (r Rotation) turn(ctx context.Context, root *os.Root, log Open, stamp string) error {
	base := attemptFile(log.Attempt)
	if err := move(root, base, base+"."+stamp); err != nil {
		return fmt.Errorf("rename a log: %w", err)
	}
	err := r.Reopen(ctx, log.ContainerID)
	if err == nil {
		return nil
	}
	// Move the log back under its name, so that readers find what the runtime goes on writing.
	// If the runtime has begun a new log after all, the name is taken.
	if back := move(root, base+"."+stamp, base); back != nil && !errors.Is(back, fs.ErrExist) {
		err = errors.Join(err, back)
	}
	return fmt.Errorf("reopen a log: %w", err)
}

func move(root *os.Root, from, to string) error {
	if err := root.Link(from, to); err != nil {
		return err
	}
	return root.Remove(from)
}
