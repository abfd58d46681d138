package configfile

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is the pause in which files have to stay the same.
	settle = 200 * time.Millisecond
	// floor is the time between looks at files of which nothing was heard: an event may be lost.
	floor = 30 * time.Second
	// mostLinks bounds how many symbolic links are followed on the way to a file, as Linux does.
	mostLinks = 40
)

// Files are the files of a configuration.
type Files struct {
	Paths   []string
	Dir     string // of drop-ins; empty for none
	Pattern string // of the names of drop-ins

	rest func(context.Context) bool // stands for pause in tests
}

// Watch calls changed at first, and after each change of the files, until the context ends.
func (f Files) Watch(ctx context.Context, changed func(), log *slog.Logger) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("cannot watch the configuration files; they are read twice a minute", "err", err)
		notify = &fsnotify.Watcher{}
	} else {
		defer notify.Close()
	}
	rest := f.rest
	if rest == nil {
		rest = pause
	}
	timer := time.NewTimer(floor)
	defer timer.Stop()
	seen := ""
	for {
		if err == nil {
			f.follow(notify)
		}
		if now := f.read(); now != seen {
			if !rest(ctx) {
				return
			}
			if f.read() != now {
				continue // someone is still writing
			}
			seen = now
			changed()
		}
		timer.Reset(floor)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-notify.Events: // of whatever file: beside these may lie some that change often
			if !rest(ctx) {
				return
			}
			drain(notify)
		case <-notify.Errors: // events were lost
		}
	}
}

// drain forgets the events that the next reading covers.
func drain(notify *fsnotify.Watcher) {
	for {
		select {
		case <-notify.Events:
		default:
			return
		}
	}
}

// follow watches the directories on the way to each file. A directory that has taken another's name is watched in its place.
func (f Files) follow(notify *fsnotify.Watcher) {
	wanted := map[string]bool{}
	for _, path := range f.Paths {
		for _, dir := range way(path) {
			wanted[dir] = true
		}
	}
	for _, name := range f.dropIns() {
		for _, dir := range way(name) {
			wanted[dir] = true
		}
	}
	if f.Dir != "" {
		for _, dir := range way(filepath.Join(f.Dir, "any")) {
			wanted[dir] = true
		}
	}
	for _, dir := range notify.WatchList() {
		if !wanted[dir] {
			_ = notify.Remove(dir)
		}
	}
	for dir := range wanted {
		for ; notify.Add(dir) != nil && dir != "/"; dir = filepath.Dir(dir) {
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

// dropIns lists the files of the directory whose names match.
func (f Files) dropIns() []string {
	if f.Dir == "" {
		return nil
	}
	names, err := filepath.Glob(filepath.Join(escape(f.Dir), f.Pattern))
	if err != nil {
		return nil
	}
	return names
}

// escape returns a directory as a pattern that matches only it.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// read returns a digest of all files. One that cannot be read counts with the reason.
func (f Files) read() string {
	digest := sha256.New()
	for _, path := range append(f.dropIns(), f.Paths...) {
		content, err := os.ReadFile(path)
		reason := ""
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			reason = err.Error()
		}
		fmt.Fprintf(digest, "%q %t %q %d\n", path, err == nil, reason, len(content))
		digest.Write(content)
	}
	return string(digest.Sum(nil))
}

// pause waits until files have settled, and reports whether the context goes on.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
