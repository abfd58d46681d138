package auditfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
)

// part is one file as it was at one moment.
type part struct {
	file *os.File
	size int64
}

// Backward calls visit with each line, the newest first, until visit returns false. It returns the position from which
// After goes on. A line that was cut by a crash is visited like the others.
func (f *File) Backward(visit func(line []byte) bool) (next uint64, err error) {
	parts, waiting, next, err := f.parts()
	defer func() {
		for _, p := range parts {
			_ = p.file.Close() // it was only read
		}
	}()
	for _, line := range slices.Backward(waiting) {
		if !visit(line) {
			return next, err
		}
	}
	for _, p := range parts {
		more, failed := backward(p.file, p.size, visit)
		if failed != nil || !more {
			return next, failed
		}
	}
	return next, err
}

// parts opens all files, the newest first, between two lines. They stay readable while the log is rotated. The lines
// that wait for a full disk are newer.
func (f *File) parts() (parts []part, waiting [][]byte, next uint64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	waiting = f.spare.lines()
	for age := range f.cfg.Backups + 1 {
		file, err := os.Open(f.backup(age))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return parts, waiting, f.recent.end, f.failed(err)
		}
		info, err := file.Stat()
		if err != nil {
			return parts, waiting, f.recent.end, f.failed(errors.Join(err, file.Close()))
		}
		parts = append(parts, part{file, info.Size()})
	}
	return parts, waiting, f.recent.end, nil
}

const (
	block   = 64 << 10
	maxLine = 1 << 20 // a longer one is no line of ours
)

// backward visits the lines of a file from its end.
func backward(r io.ReaderAt, size int64, visit func([]byte) bool) (more bool, err error) {
	var rest []byte // the end of a line that begins in an earlier block
	for end := size; end > 0; {
		start := max(0, end-block)
		text := make([]byte, end-start, end-start+int64(len(rest)))
		if n, err := r.ReadAt(text, start); err != nil && n < len(text) {
			return false, err
		}
		text = append(text, rest...)
		for {
			i := bytes.LastIndexByte(text, '\n')
			if i < 0 {
				break
			}
			if line := text[i+1:]; len(line) > 0 && !visit(line) {
				return false, nil
			}
			text = text[:i]
		}
		if rest = text; len(rest) > maxLine {
			rest = nil
		}
		end = start
	}
	return len(rest) == 0 || visit(rest), nil
}
