package nodelog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// pause is the time between two looks at a file that is followed.
const pause = 500 * time.Millisecond

// copyFile writes a file, after the one of an earlier time if there is one, and calls ended at its end. With follow it
// goes on with what is appended, until the context ends. A file that became shorter was emptied, and is read from its
// beginning.
func copyFile(ctx context.Context, path string, follow bool, w io.Writer, ended func() error) error {
	if err := copyOnce(ctx, path+".1", w); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer f.Close()
	if _, err := io.Copy(w, reader{ctx, f}); err != nil {
		return err
	}
	if err := ended(); err != nil || !follow {
		return err
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := rewound(f); err != nil {
			return err
		}
		if _, err := io.Copy(w, reader{ctx, f}); err != nil {
			return err
		}
	}
}

func copyOnce(ctx context.Context, path string, w io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, reader{ctx, f})
	return err
}

// rewound goes back to the beginning of a file that is shorter than what was read of it.
func rewound(f *os.File) error {
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < at {
		_, err = f.Seek(0, io.SeekStart)
	}
	return err
}
