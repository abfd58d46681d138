package stats

import (
	"bytes"
	"iter"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// reader holds the buffers of one reading goroutine.
type reader struct {
	room    []byte            // for one file's text
	devices map[string]string // names of disks by their numbers

	// fill reads a file that stays open; it is one function for all files.
	fill func(fd uintptr) bool
	n    int
	err  error
}

func newReader() *reader {
	r := &reader{room: make([]byte, 8<<10), devices: map[string]string{}}
	r.fill = func(fd uintptr) bool {
		r.n, r.err = r.readAll(int(fd))
		return true
	}
	return r
}

// read opens, reads and closes a file of the kernel.
func (r *reader) read(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	n, err := r.readAll(fd)
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: path, Err: err}
	}
	return r.room[:n], nil
}

// readOpen reads a file that stays open, unless it is closed meanwhile.
func (r *reader) readOpen(file syscall.RawConn) ([]byte, error) {
	if err := file.Read(r.fill); err != nil {
		return nil, err
	}
	return r.room[:r.n], r.err
}

// surely is a length of text that the kernel returns in parts only at the end of a
// file: it fills more than half a page before it returns a part.
const surely = 2048

// readAll reads a file from its beginning. A file of the kernel has new content then.
func (r *reader) readAll(fd int) (int, error) {
	for at := 0; ; {
		n, err := unix.Pread(fd, r.room[at:], int64(at))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, os.NewSyscallError("pread", err)
		}
		at += n
		if n == 0 || at < surely {
			return at, nil
		}
		if at == len(r.room) {
			r.room = append(r.room, make([]byte, at)...)
		}
	}
}

// number parses a number. It returns zero for other texts, such as "max".
func number(text []byte) uint64 {
	n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// numbers returns the names and numbers of a text that has one pair on each line.
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

// mostReaders limits concurrent readers: more of them would wait for the same locks in
// the kernel.
const mostReaders = 4

// each calls do for all i below count, side by side.
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
