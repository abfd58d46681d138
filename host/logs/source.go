package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
)

const (
	// blockSize is the amount that is read at once: large enough that system calls do not
	// count, small enough to stay in the processor's cache.
	blockSize = 128 << 10

	// maxEntry bounds the memory that a file without newlines can take.
	maxEntry = 2 << 20
)

// source reads one log file and cuts it into lines.
type source struct {
	file     *os.File
	in       io.Reader // the file, or the part of it that is wanted
	offset   int64     // how far the file was read
	buf      []byte
	end      int    // buf[:end] is the beginning of a line that is not complete yet
	overlong bool   // that line is longer than maxEntry: drop the rest of it
	stamp    string // of when it was rotated away; empty: it was not when it was opened
}

// openSource opens the log of a place, or with a suffix one that was rotated away from it.
func openSource(p place, suffix string) (*source, error) {
	file, err := p.open(suffix)
	if err != nil {
		return nil, err
	}
	return &source{file: file, in: file, buf: make([]byte, blockSize)}, nil
}

// seek moves to an offset at which a line begins and drops its buffer.
func (s *source) seek(offset int64) error {
	if _, err := s.file.Seek(offset, io.SeekStart); err != nil {
		return fmt.Errorf("seek in log: %w", err)
	}
	s.offset, s.end, s.overlong = offset, 0, false
	return nil
}

// drain prints all complete lines up to the end of the file. It can be called
// again when the file has grown.
func (s *source) drain(ctx context.Context, out *printer) error {
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("read log %q: %w", s.file.Name(), err)
		}
		s.makeRoom()
		n, readErr := s.in.Read(s.buf[s.end:])
		s.end += n
		s.offset += int64(n)
		if err := s.cut(out); err != nil {
			return err
		}
		if readErr == io.EOF {
			return nil
		}
		if readErr != nil {
			return fmt.Errorf("read log %q: %w", s.file.Name(), readErr)
		}
	}
}

// makeRoom sees to it that the buffer is not full of a single unfinished line.
func (s *source) makeRoom() {
	switch {
	case s.end < len(s.buf):
	case len(s.buf) < maxEntry:
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	default:
		s.end, s.overlong = 0, true
	}
}

// cut prints the complete lines of the buffer and moves the rest to its start.
func (s *source) cut(out *printer) error {
	rest := s.buf[:s.end]
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			s.end = copy(s.buf, rest)
			return nil
		}
		line := rest[:i+1]
		rest = rest[i+1:]
		if s.overlong {
			s.overlong = false
			continue
		}
		if err := out.line(line); err != nil {
			return err
		}
	}
}

// finish prints what follows the last newline, once nothing can complete it.
func (s *source) finish(out *printer) error {
	rest := s.buf[:s.end]
	s.end = 0
	if s.overlong || len(rest) == 0 {
		return nil
	}
	return out.line(rest)
}
