// Package pastfile keeps two files that describe themselves: one that is written, and the one before it.
//
//	now      frames (node/frame), appended
//	before   what was now until the present one was begun
//	next     what will be now; it is there only if a crash has cut that short
//
// Appending syncs nothing: a crash of the agent loses nothing that was appended, and a power cut what the kernel had not
// written back. A write that fails is cut off again. The package does not know what is in the files.
//
// Start reading at Log.Begin.
package pastfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Log is a directory with the files. Its methods are for one goroutine.
type Log struct {
	dir  string
	file *os.File // now; nil if it has to be begun
	size int64
}

// New returns a log that is not open yet.
func New(dir string) *Log { return &Log{dir: dir} }

func (l *Log) path(name string) string { return filepath.Join(l.dir, name) }

// Resume opens the present file. good returns how many bytes of its text make sense; the others are cut off. An error
// means that there is none to go on with.
func (l *Log) Resume(good func(text []byte) (int, error)) error {
	l.Close()
	if _, err := os.Lstat(l.path("now")); errors.Is(err, fs.ErrNotExist) {
		_ = os.Rename(l.path("next"), l.path("now")) // mostly there is none
	}
	file, err := os.OpenFile(l.path("now"), os.O_RDWR|os.O_APPEND|unix.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("open the record of pods: %w", err)
	}
	text, err := os.ReadFile(l.path("now"))
	if err == nil {
		var size int
		if size, err = good(text); err == nil {
			l.size, err = int64(size), file.Truncate(int64(size))
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("read the record of pods: %w", err), file.Close())
	}
	l.file = file
	return nil
}

// Begin makes the present file the one before, and begins another with a text.
func (l *Log) Begin(text []byte) error {
	l.Close()
	if err := l.begin(text); err != nil {
		return fmt.Errorf("begin a record of pods: %w", err)
	}
	return nil
}

func (l *Log) begin(text []byte) error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	if err := os.Remove(l.path("next")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(l.path("next"), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		if err = os.Rename(l.path("now"), l.path("before")); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = os.Rename(l.path("next"), l.path("now"))
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.size = file, int64(len(text))
	return nil
}

// Append adds to the present file. After an error the file is as it was, or has to be begun again.
func (l *Log) Append(text []byte) error {
	if l.file == nil {
		return fmt.Errorf("write the record of pods: %w", os.ErrClosed)
	}
	if _, err := l.file.Write(text); err != nil {
		if l.file.Truncate(l.size) != nil {
			l.Close()
		}
		return fmt.Errorf("write the record of pods: %w", err)
	}
	l.size += int64(len(text))
	return nil
}

// Size returns the bytes of the present file.
func (l *Log) Size() int64 { return l.size }

// Texts returns what is in the files, the present one first.
func (l *Log) Texts() ([][]byte, error) {
	var texts [][]byte
	for _, name := range []string{"now", "before"} {
		text, err := os.ReadFile(l.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the record of pods: %w", err)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// Drop removes all files. They are incomplete.
func (l *Log) Drop() error {
	l.Close()
	var errs []error
	for _, name := range []string{"now", "before", "next"} {
		if err := os.Remove(l.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Close closes the present file.
func (l *Log) Close() {
	if l.file != nil {
		_ = l.file.Close() // every write has been checked
		l.file, l.size = nil, 0
	}
}
