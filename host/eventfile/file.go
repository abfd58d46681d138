// Package eventfile keeps the node's events in a file, so that the next agent has them.
//
//	events    frames (node/frame) of records (node/store): appended, and now and then written again as a whole
//
// Appending syncs nothing: a crash of the agent costs the events that were not appended, and a power cut those that the
// kernel had not written back. What a crash has torn from the end is cut when the file is opened. Once the file has grown
// by another megabyte over twice its events, it is replaced by one with the present events alone, whose size is bounded.
//
// It does not know when to write: agent/state follows the events.
//
// Start reading at File.Append.
package eventfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"nodal/host/replace"
	"nodal/node"
	"nodal/node/frame"
	"nodal/node/store"
)

const (
	growth   = 1 << 20 // bytes of events that may have been superseded
	mostKept = 4 << 20 // bytes of the events in a file that was written as a whole
)

// File holds events. Its methods are for one goroutine.
type File struct {
	path  string
	file  *os.File // nil if the next write has to replace it
	size  int64    // of its good part
	whole int64    // its size when it was written as a whole
}

// New returns a file that is not open yet.
func New(path string) *File { return &File{path: path} }

// Load opens the file, and returns what it holds. Without a file that is nothing. A record that makes no sense is left
// out; the error names the last one.
func (f *File) Load() (kept store.KeptEvents, err error) {
	file, err := os.OpenFile(f.path, os.O_RDWR|os.O_APPEND|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err != nil {
		return kept, fmt.Errorf("open the events: %w", err)
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return kept, errors.Join(fmt.Errorf("read the events: %w", err), file.Close())
	}
	rest := text
	for {
		record, behind, ok := frame.Next(rest)
		if !ok {
			break
		}
		if e := kept.Add(record); e != nil {
			err = e
		}
		rest = behind
	}
	kept.Whole = kept.Whole && len(rest) == 0
	good := int64(len(text) - len(rest))
	if e := file.Truncate(good); e != nil {
		_ = file.Close() // nothing was written; the first write replaces the file
		return kept, errors.Join(err, fmt.Errorf("cut the events: %w", e))
	}
	f.file, f.size, f.whole = file, good, good/2
	return kept, err
}

// Full reports whether the file has to be replaced before it is appended to.
func (f *File) Full() bool { return f.file == nil || f.size > 2*f.whole+growth }

// Append adds events. After an error the file is as it was before, or Full.
func (f *File) Append(events []node.Event) error {
	var text []byte
	for i := range events {
		var err error
		if text, err = appendEvent(text, &events[i]); err != nil {
			return err
		}
	}
	return f.write(text)
}

// Mark says at the end of the file whether the events in it are whole.
func (f *File) Mark(compacted int64, whole bool) error {
	mark, err := store.EncodeMark(compacted, whole)
	if err != nil {
		return err
	}
	return f.write(frame.Append(nil, mark))
}

func (f *File) write(text []byte) error {
	if f.file == nil {
		return fmt.Errorf("write the events: %w", os.ErrClosed)
	}
	if _, err := f.file.Write(text); err != nil {
		if f.file.Truncate(f.size) != nil {
			f.Close()
		}
		return fmt.Errorf("write the events: %w", err)
	}
	f.size += int64(len(text))
	return nil
}

func appendEvent(to []byte, e *node.Event) ([]byte, error) {
	record, err := store.EncodeEvent(e)
	if err != nil || len(record) > frame.MaxRecord {
		return to, err // one that is too large is not kept
	}
	return frame.Append(to, record), nil
}

// Replace writes the file again, with these events alone. If they are too large together, the oldest are left out.
func (f *File) Replace(kept store.KeptEvents) error {
	var frames [][]byte
	sum := 0
	for i := len(kept.Events) - 1; i >= 0; i-- {
		text, err := appendEvent(nil, &kept.Events[i])
		if err != nil {
			return err
		}
		if sum += len(text); sum > mostKept {
			kept.Compacted = max(kept.Compacted, kept.Events[i].Revision)
			break
		}
		frames = append(frames, text)
	}
	mark, err := store.EncodeMark(kept.Compacted, false)
	if err != nil {
		return err
	}
	text := frame.Append(nil, mark)
	for i := len(frames) - 1; i >= 0; i-- {
		text = append(text, frames[i]...)
	}
	return f.replace(text)
}

func (f *File) replace(text []byte) error {
	f.Close()
	err := os.MkdirAll(filepath.Dir(f.path), 0o700)
	if err == nil {
		err = replace.From(f.path, bytes.NewReader(text), 0o600)
	}
	if err == nil {
		f.file, err = os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return fmt.Errorf("write the events: %w", err)
	}
	f.size, f.whole = int64(len(text)), int64(len(text))
	return nil
}

// Close closes the file. The next write replaces it.
func (f *File) Close() {
	if f.file != nil {
		_ = f.file.Close() // every write has been checked
		f.file = nil
	}
}
