package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"nodal/node"
)

// tail searches the last lines of one stream, or of all, in a log's files from
// the newest to the oldest.
type tail struct {
	left   int64 // lines that are still to be found
	begun  bool  // a line was found, to which what comes before it may belong
	stream node.LogStream
}

// start returns the offset at which the wanted lines begin in a file, and whether the file has all of them. An
// unfinished last line counts too.
func (t *tail) start(file *os.File) (offset int64, all bool, err error) {
	info, err := file.Stat()
	if err != nil {
		return 0, false, fmt.Errorf("look at log: %w", err)
	}
	var p parser
	start, lines := info.Size(), backward{file: file, offset: info.Size()}
	for {
		line, err := lines.previous()
		if errors.Is(err, io.EOF) {
			return 0, false, nil
		}
		if err != nil {
			return 0, false, fmt.Errorf("find the last lines: %w", err)
		}
		e, ok := p.parse(line)
		if !ok || t.stream != node.LogAll && t.stream != e.stream {
			continue
		}
		if !e.partial || !t.begun {
			if t.left == 0 {
				return start, true, nil
			}
			t.left, t.begun = t.left-1, true
		}
		start = lines.at()
	}
}

// backward reads the lines of a file from the last to the first.
type backward struct {
	file     io.ReaderAt
	offset   int64 // of window in the file
	buf      []byte
	window   []byte // the beginning of buf: bytes read but not returned
	overlong bool   // the end of the line in window was dropped
}

// at returns the offset of the line that previous returned last.
func (b *backward) at() int64 { return b.offset + int64(len(b.window)) }

// previous returns the line before the last one with its newline, or io.EOF. The
// line is valid until the next call. One longer than maxEntry comes out as an
// empty line.
func (b *backward) previous() ([]byte, error) {
	for {
		// The newline at the end of the window belongs to the line.
		body := b.window
		if !b.overlong {
			body = body[:max(len(body)-1, 0)]
		}
		i := bytes.LastIndexByte(body, '\n')
		if i >= 0 || b.offset == 0 {
			return b.take(i + 1)
		}
		if len(b.window) > maxEntry {
			b.window, b.overlong = b.window[:0], true
		}
		if err := b.load(); err != nil {
			return nil, err
		}
	}
}

// take returns the line that begins at index i of the window.
func (b *backward) take(i int) ([]byte, error) {
	line := b.window[i:]
	b.window = b.window[:i]
	if b.overlong || len(line) > maxEntry {
		b.overlong = false
		return nil, nil
	}
	if len(line) == 0 {
		return nil, io.EOF
	}
	return line, nil
}

// load puts the block before the window in front of it.
func (b *backward) load() error {
	n := int(min(b.offset, blockSize))
	size := n + len(b.window)
	if size > len(b.buf) {
		b.buf = make([]byte, max(2*len(b.buf), size))
	}
	copy(b.buf[n:], b.window)
	b.window = b.buf[:size]
	b.offset -= int64(n)
	_, err := b.file.ReadAt(b.buf[:n], b.offset)
	return err
}
