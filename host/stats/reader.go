package stats

import (
	"bytes"
	"io"
	"iter"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// reader is what one goroutine reads with.
type reader struct {
	room    []byte            // for one file's text
	devices map[string]string // names of disks by their numbers
}

func newReader() *reader { return &reader{room: make([]byte, 8<<10), devices: map[string]string{}} }

// read opens a file of the kernel's for once.
func (r *reader) read(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	return r.readAll(descriptor(fd))
}

// readAll reads a file from its beginning, which for one of the kernel's means anew.
func (r *reader) readAll(file io.ReaderAt) ([]byte, error) {
	for at := 0; ; {
		n, err := file.ReadAt(r.room[at:], int64(at))
		at += n
		if err == io.EOF {
			return r.room[:at], nil
		}
		if err != nil {
			return nil, err
		}
		if at == len(r.room) {
			r.room = append(r.room, make([]byte, at)...)
		}
	}
}

// descriptor is a file that is read at once and by one goroutine: it does without what
// makes an os.File dear.
type descriptor int

// ReadAt may read less than there is.
func (d descriptor) ReadAt(to []byte, at int64) (int, error) {
	n, err := unix.Pread(int(d), to, at)
	if err != nil {
		return 0, os.NewSyscallError("pread", err)
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// number is zero where there is none, as for "max".
func number(text []byte) uint64 {
	n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// numbers are the lines of a text that are a name and a number.
func numbers(text []byte) iter.Seq2[[]byte, uint64] {
	return func(yield func([]byte, uint64) bool) {
		for line := range bytes.Lines(text) {
			name, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
			if n, err := strconv.ParseUint(string(value), 10, 64); err == nil && !yield(name, n) {
				return
			}
		}
	}
}

// mostReaders is how many read at once: more of them would wait for the same locks of
// the kernel's.
const mostReaders = 4

// each does something so often, side by side.
func each(count int, do func(r *reader, i int)) {
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(count, mostReaders, runtime.GOMAXPROCS(0)) {
		readers.Go(func() {
			r := newReader()
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				do(r, i)
			}
		})
	}
	readers.Wait()
}
