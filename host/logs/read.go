package logs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"nodal/node"
)

// Read prints the log of a run, as the function Read does. A log that its pod no longer has may have been kept.
func (l Layout) Read(ctx context.Context, run node.LogRun, opts node.LogOptions, sink node.LogSink) error {
	if run.Kept {
		return l.readKept(ctx, run, opts, sink)
	}
	path := run.Path
	if path == "" {
		var err error
		if path, err = l.Path(run); err != nil {
			return err
		}
	}
	err := read(ctx, path, run.ID, opts, sink)
	if errors.Is(err, node.ErrNotFound) && l.Kept != nil {
		if kept := l.readKept(ctx, run, opts, sink); !errors.Is(kept, node.ErrNotFound) {
			return kept
		}
	}
	return err
}

func (l Layout) readKept(ctx context.Context, run node.LogRun, opts node.LogOptions, sink node.LogSink) error {
	if err := check(&opts); err != nil {
		return err
	}
	if l.Kept == nil {
		return fmt.Errorf("the node keeps no logs of deleted pods; --container-log-budget is 0: %w", node.ErrNotFound)
	}
	where, err := l.Kept.place(run)
	if err != nil {
		return err
	}
	return readAt(ctx, where, opts, sink)
}

// Read prints the log at path to sink: what was rotated away from it and is still
// there, then the file itself. Without Follow it prints what the log holds now.
// It returns nil at the end of the log or at LimitBytes, and an error when the log
// cannot be read, the sink refuses or ctx ends. A log that is not there is
// node.ErrNotFound. The sink is flushed once the log is open, before anything is read.
func Read(ctx context.Context, path string, opts node.LogOptions, sink node.LogSink) error {
	return read(ctx, path, "", opts, sink)
}

// read prints the log of the container with an id.
func read(ctx context.Context, path, id string, opts node.LogOptions, sink node.LogSink) error {
	if err := check(&opts); err != nil {
		return err
	}
	where, err := placeOf(path, id)
	if err != nil {
		return err
	}
	return readAt(ctx, where, opts, sink)
}

// readAt prints the log of a place, and closes the place.
func readAt(ctx context.Context, where place, opts node.LogOptions, sink node.LogSink) error {
	defer where.close()
	src, err := openNewest(where)
	if err != nil {
		return err
	}
	out := newPrinter(opts, sink)
	old, err := pastOf(where, src)
	if err == nil {
		err = out.begin()
	}
	switch {
	case err != nil:
		src.file.Close()
	case opts.Follow:
		err = follow(ctx, old, src, out)
	default:
		err = readOnce(ctx, old, src, out)
	}
	if err != nil && !errors.Is(err, errLimit) {
		return err
	}
	return out.flush()
}

// openNewest opens the log of a place. If it was just renamed and the runtime has yet to make a
// new one, it opens the renamed file.
func openNewest(p place) (*source, error) {
	src, err := openSource(p, "")
	if !errors.Is(err, node.ErrNotFound) {
		return src, err
	}
	stamps, listErr := p.stamps()
	if listErr != nil || len(stamps) == 0 {
		return nil, err
	}
	return openRotated(p, stamps[len(stamps)-1])
}

// readOnce prints the log as it is at this moment: however fast it grows, the
// reading ends.
func readOnce(ctx context.Context, old past, src *source, out *printer) error {
	defer src.file.Close()
	info, err := src.file.Stat()
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	if err := old.print(ctx, src, out); err != nil {
		return err
	}
	src.in = io.LimitReader(src.file, info.Size()-src.offset)
	if err := src.drain(ctx, out); err != nil {
		return err
	}
	return src.finish(out)
}

// print prints the selected part of the past, and moves src to where reading goes on.
func (p past) print(ctx context.Context, src *source, out *printer) error {
	first, offset, err := p.begin(src, out.opts)
	if err != nil {
		return err
	}
	for _, stamp := range p.old[first:] {
		if err := p.printOne(ctx, stamp, offset, out); err != nil {
			return err
		}
		offset = 0
	}
	return nil
}

func (p past) printOne(ctx context.Context, stamp string, offset int64, out *printer) error {
	src, err := openRotated(p.place, stamp)
	if errors.Is(err, node.ErrNotFound) {
		return nil // dropped meanwhile, as the oldest are
	}
	if err != nil {
		return err
	}
	defer src.file.Close()
	if err := src.begin(offset, out.opts.Since); err != nil {
		return err
	}
	if err := src.drain(ctx, out); err != nil {
		return err
	}
	return src.finish(out)
}
