package watch

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is the pause after a change. Files that are written without end are looked at a few times a second.
	settle = 100 * time.Millisecond
	// Floor is the time between looks at files of which nothing was heard.
	Floor = 30 * time.Second
	// mostLinks bounds how many symbolic links are followed on the way to a file, as Linux does.
	mostLinks = 40
)

// Files waits for changes of files.
type Files struct {
	notify *fsnotify.Watcher // with nil channels if the machine has no inotify instance left
	deaf   bool
}

// Open begins to listen. What is followed is named in the log if that is not possible.
func Open(what string, log *slog.Logger) *Files {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("cannot watch files; they are read twice a minute", "files", what, "err", err)
		return &Files{notify: &fsnotify.Watcher{}, deaf: true}
	}
	return &Files{notify: notify}
}

// Close ends it.
func (f *Files) Close() {
	if !f.deaf {
		_ = f.notify.Close()
	}
}

// Await returns after the next change in the directories that are followed, or after the Floor. It returns false when
// the context ends.
func (f *Files) Await(ctx context.Context) bool {
	timer := time.NewTimer(Floor)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-f.notify.Errors: // events were lost
	case <-f.notify.Events: // of whatever file: beside the wanted ones may lie some that change often
		if !Pause(ctx, settle) {
			return false
		}
		f.drain()
	}
	return true
}

// drain forgets the events that the next look covers.
func (f *Files) drain() {
	for {
		select {
		case <-f.notify.Events:
		default:
			return
		}
	}
}

// Follow watches the directories on the way to each file, and no others any more. A directory that has taken another's
// name is watched in its place. To follow all files of a directory, name any in it.
func (f *Files) Follow(paths ...string) {
	if f.deaf {
		return
	}
	wanted := map[string]bool{}
	for _, path := range paths {
		for _, dir := range way(path) {
			wanted[dir] = true
		}
	}
	for _, dir := range f.notify.WatchList() {
		if !wanted[dir] {
			_ = f.notify.Remove(dir)
		}
	}
	for dir := range wanted {
		for ; f.notify.Add(dir) != nil && dir != "/"; dir = filepath.Dir(dir) {
			// The directory may come: it is seen in the one above it.
		}
	}
}

// way returns the directories in which a change may give a path another content: the one that holds the file, and those
// that hold symbolic links to it.
func way(path string) (dirs []string) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	at, rest := "/", strings.Split(absolute, "/")
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(next)
		if err != nil || links == mostLinks {
			if len(rest) > 0 {
				at = next
			}
			continue
		}
		links++
		dirs = append(dirs, at)
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return append(dirs, at)
}

// Pause waits, and reports whether the context goes on.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
