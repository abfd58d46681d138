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

	"nodal/host/watch"
)

// settle is the pause in which files have to stay the same.
const settle = 200 * time.Millisecond

// Files are the files of a configuration.
type Files struct {
	Paths   []string
	Dir     string // of drop-ins; empty for none
	Pattern string // of the names of drop-ins

	rest func(context.Context) bool // stands for the pause in tests
}

// Watch calls changed at first, and after each change of the files, until the context ends.
func (f Files) Watch(ctx context.Context, changed func(), log *slog.Logger) {
	w := watch.Open("the configuration", log)
	defer w.Close()
	rest := f.rest
	if rest == nil {
		rest = func(ctx context.Context) bool { return watch.Pause(ctx, settle) }
	}
	seen := ""
	for {
		w.Follow(f.all()...)
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
		if !w.Await(ctx) {
			return
		}
	}
}

// all returns the files, and one that may come into the directory.
func (f Files) all() []string {
	paths := append(f.dropIns(), f.Paths...)
	if f.Dir != "" {
		paths = append(paths, filepath.Join(f.Dir, "any"))
	}
	return paths
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
