package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"nodal/host/watch"
)

// Run scans the directory when it changes, and writes the sockets on the board, until the context ends.
func (r *Registry) Run(ctx context.Context) {
	defer r.end()
	w := watch.Open("the plugin registry", r.Log)
	defer w.Close()
	fault := ""
	for {
		w.Follow(filepath.Join(r.Dir, "any"))
		err := r.scan()
		if text := fmt.Sprint(err); err != nil && text != fault {
			r.Log.Warn("cannot read the plugin registry", "dir", r.Dir, "err", err)
			fault = text
		} else if err == nil {
			fault = ""
		}
		if !w.Await(ctx) {
			return
		}
	}
}

// scan writes the sockets of the directory on the board. A directory that is gone has none; one that cannot be read
// changes nothing.
func (r *Registry) scan() error {
	sockets, err := scan(r.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.Board.Found(sockets, time.Now())
	return nil
}

// ignoreEnd returns err, but nil for io.EOF: an empty directory.
func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
