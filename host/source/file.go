package source

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"nodal/node"
)

// FileConfig names a file of manifests or a directory of such files.
type FileConfig struct {
	Path string
	Poll time.Duration // DefaultPoll when 0
	Sink
}

// File is a file or directory as a source of pods and objects. In a directory it ignores directories, hidden files and the
// backups of editors.
type File struct {
	publisher
	poll    time.Duration
	settled time.Duration    // see scan.go
	files   map[string]*file // by path
	first   bool             // nothing was delivered yet
	due     bool             // to be delivered though no file has changed
	retry   bool             // the node did not take every valid document the last time, or cannot tell what to prune
	deaf    string           // why only polls find changes
}

// NewFile makes the source; Run starts it.
func NewFile(config FileConfig) *File {
	return &File{
		publisher: publisher{Sink: config.Sink.patient(node.SourceFile), location: filepath.Clean(config.Path)},
		poll:      cmp.Or(config.Poll, DefaultPoll),
		settled:   settled,
		first:     true,
		due:       true,
	}
}

// Run delivers the pods that are there, and then every change, until ctx is done.
func (f *File) Run(ctx context.Context) error {
	watch := openWatch()
	defer watch.close()
	ticker := time.NewTicker(f.poll)
	defer ticker.Stop()
	for polled := true; ; {
		var again <-chan time.Time
		if wait := f.turn(watch, polled); wait > 0 {
			again = time.After(wait)
		}
		polled = false
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			polled = true
		case <-watch.wake:
		case <-again:
		}
	}
}

// turn looks once and publishes changes. It returns the time after which to look again at
// files that are not settled, 0 when all are.
func (f *File) turn(watch *watch, polled bool) time.Duration {
	now := time.Now()
	// Watch before looking, so that no change falls in between.
	f.listen(watch)
	written := watch.take()
	paths, err := list(f.location)
	if f.first {
		f.files = f.left()
	}
	if _, wasFile := f.files[f.location]; err != nil && !wasFile {
		f.away(err, now)
		return 0
	}
	scan := f.scan(paths, written, now)
	f.files = scan.files
	switch {
	case scan.changed || f.due || polled && f.retry:
		f.retry = !f.deliver(scan.batch(), now)
		f.first, f.due = false, false
	case polled:
		f.Board.Delivered(f.Intake.Source, now, f.standing)
	}
	return scan.unsettled
}

// away handles a place that cannot be read. Files of a directory may be on a disk that is
// not mounted: their pods stay. Yet the node must not wait for ever for a directory that was
// never made.
func (f *File) away(err error, now time.Time) {
	f.due = true
	if !errors.Is(err, fs.ErrNotExist) || f.readAny() {
		f.fail(cannotRead(err), now)
		return
	}
	keep := f.Intake.Origins()
	// A single file is certainly gone.
	delete(keep, f.location)
	f.deliver(batch{keep: keep, problems: map[string]error{f.location: cannotRead(err)}}, now)
	f.first = false
}

// readAny reports whether any known file was read.
func (f *File) readAny() bool {
	for _, file := range f.files {
		if !file.held {
			return true
		}
	}
	return false
}

// left lists the files from which an earlier agent's pods came. They count as read: the pods stay while such a file is
// being written, or away for a moment.
func (f *File) left() map[string]*file {
	files := map[string]*file{}
	for origin := range f.Intake.Origins() {
		if origin == f.location || filepath.Dir(origin) == f.location && plain(filepath.Base(origin)) {
			files[origin] = &file{reading: reading{origin: origin, held: true}}
		}
	}
	return files
}

// listen watches the directory of the manifests.
func (f *File) listen(watch *watch) {
	dir := f.location
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	deaf := ""
	if err := watch.on(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		deaf = err.Error()
	}
	if deaf != "" && deaf != f.deaf {
		slog.Warn("cannot watch manifests; reading them periodically", "path", f.location, "err", deaf)
	}
	f.deaf = deaf
}
