package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"nodal/host/replace"
)

// Step is one change to the machine. It prints as its effect.
type Step interface {
	fmt.Stringer
	Do(context.Context) error
}

var _ = []Step{makeDir{}, copyFile{}, writeFile{}, link{}, place{}, alias{}, removeAlias{}, writePages{}, removePages{}, remove{}, run{}}

type makeDir struct{ path string }

func (s makeDir) String() string           { return "make " + s.path }
func (s makeDir) Do(context.Context) error { return os.MkdirAll(s.path, 0o755) }

// copyFile copies a program.
type copyFile struct{ from, to string }

func (s copyFile) String() string { return fmt.Sprintf("copy %s to %s", s.from, s.to) }

func (s copyFile) Do(context.Context) error {
	f, err := os.Open(s.from)
	if err != nil {
		return err
	}
	defer f.Close()
	return put(s.to, f, 0o755)
}

// writeFile writes a file whole, for root alone: settings may name secrets.
type writeFile struct {
	path    string
	content []byte
	keep    bool // an existing file belongs to the owner
}

func (s writeFile) String() string {
	if s.keep {
		return fmt.Sprintf("write %s, unless it is there", s.path)
	}
	return "write " + s.path
}

func (s writeFile) Do(context.Context) error {
	if _, err := os.Lstat(s.path); s.keep && err == nil {
		return nil
	}
	return put(s.path, bytes.NewReader(s.content), 0o600)
}

// put replaces a file in one step: a running program cannot be written to, and a power cut must not leave half of a
// file.
func put(path string, content io.Reader, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return replace.From(path, content, mode)
}

// link makes the link that `systemctl enable` makes, without systemd.
type link struct{ path, target string }

func (s link) String() string { return fmt.Sprintf("link %s to %s", s.path, s.target) }

func (s link) Do(context.Context) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return err
	}
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(s.target, s.path); err != nil {
		return err
	}
	return replace.SyncDir(filepath.Dir(s.path))
}

// place renames a file into the place of another one. If it is not there, it was renamed before.
type place struct{ from, to string }

func (s place) String() string { return fmt.Sprintf("put %s in the place of %s", s.from, s.to) }

func (s place) Do(context.Context) error {
	if err := os.Rename(s.from, s.to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return replace.SyncDir(filepath.Dir(s.to))
}

// alias gives a program a second name, unless something else has that name.
type alias struct{ path, target string }

func (s alias) String() string {
	return fmt.Sprintf("link %s to %s, unless something else is there", s.path, s.target)
}

func (s alias) Do(context.Context) error {
	err := os.Symlink(s.target, s.path)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// removeAlias takes alias back.
type removeAlias struct{ path, target string }

func (s removeAlias) String() string {
	return fmt.Sprintf("remove the link %s to %s", s.path, s.target)
}

func (s removeAlias) Do(context.Context) error {
	target, err := os.Readlink(s.path)
	if err != nil || target != s.target {
		return nil // it is not there, or not ours
	}
	return os.Remove(s.path)
}

type remove struct{ path string }

func (s remove) String() string { return "remove " + s.path }

func (s remove) Do(context.Context) error {
	if err := os.RemoveAll(s.path); err != nil {
		return err
	}
	if err := replace.SyncDir(filepath.Dir(s.path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// run is a command and its arguments.
type run []string

func (s run) String() string { return strings.Join(s, " ") }

func (s run) Do(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, s[0], s[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}
