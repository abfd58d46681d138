package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// Read prints the log file at path to sink. Without Follow it prints what the
// file holds now. It returns nil at the end of the log or at LimitBytes, and an
// error when the log cannot be read, the sink refuses or ctx ends. A log that
// is not there is node.ErrNotFound.
func Read(ctx context.Context, path string, opts Options, sink Sink) error {
	if err := opts.check(); err != nil {
		return err
	}
	// With Docker the log is a link, and what happens to the file is seen in the
	// directory where it really lies.
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return openError(path, err)
	}
	src, err := openSource(target)
	if err != nil {
		return err
	}
	out := newPrinter(opts, sink)
	if opts.Follow {
		err = follow(ctx, target, src, out)
	} else {
		err = readOnce(ctx, src, out)
	}
	if err != nil && !errors.Is(err, errLimit) {
		return err
	}
	return out.flush()
}

// readOnce prints the log as it is at this moment: however fast it grows, the
// reading ends.
func readOnce(ctx context.Context, src *source, out *printer) error {
	defer src.file.Close()
	size, err := src.seekTail(out.opts)
	if err != nil {
		return err
	}
	src.in = io.LimitReader(src.file, size-src.offset)
	if err := src.drain(ctx, out); err != nil {
		return err
	}
	return src.finish(out)
}

// seekTail moves to where the wanted lines begin and returns the file's size.
func (s *source) seekTail(opts Options) (int64, error) {
	info, err := s.file.Stat()
	if err != nil {
		return 0, fmt.Errorf("look at log: %w", err)
	}
	if opts.Tail == nil {
		return info.Size(), nil
	}
	start, err := tailStart(s.file, info.Size(), *opts.Tail, opts.Stream)
	if err != nil {
		return 0, err
	}
	return info.Size(), s.seek(start)
}
