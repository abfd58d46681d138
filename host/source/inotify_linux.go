package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// watch reports changes in one directory. It uses inotify itself, since fsnotify does not
// report that a writer has closed its file. That is the sign that a manifest is whole, without
// a guess at how long a writer may pause.
type watch struct {
	wake   chan struct{}
	broken error // there is no inotify
	file   *os.File
	fd     int // of file, whose method Fd would make it block

	mu      sync.Mutex
	dir     string
	id      int             // inotify's name for dir, 0 when nothing is watched
	written map[string]bool // paths that a writer has finished since they were taken
}

const watched = unix.IN_CREATE | unix.IN_CLOSE_WRITE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE |
	unix.IN_ATTRIB | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

// openWatch opens a watch. If the machine has no inotify instance left, the watch gets no events, and on returns the
// reason.
func openWatch() *watch {
	w := &watch{wake: make(chan struct{}, 1), written: map[string]bool{}}
	w.fd, w.broken = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if w.broken == nil {
		w.file = os.NewFile(uintptr(w.fd), "inotify")
		go w.listen()
	}
	return w
}

// on watches dir from now on. A repeated call only checks whether another directory has taken the name.
func (w *watch) on(dir string) error {
	if w.broken != nil {
		return fmt.Errorf("open inotify: %w", w.broken)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	id, err := unix.InotifyAddWatch(w.fd, dir, watched)
	if err != nil {
		id = 0
	}
	if w.id != 0 && w.id != id {
		// This fails if the directory is gone: the kernel has dropped it then.
		_, _ = unix.InotifyRmWatch(w.fd, uint32(w.id))
	}
	w.id, w.dir = id, dir
	if err != nil {
		return fmt.Errorf("watch directory %s: %w", dir, err)
	}
	return nil
}

// listen takes in events until the watch is closed.
func (w *watch) listen() {
	buf := make([]byte, 16<<10)
	for {
		n, err := w.file.Read(buf)
		if err != nil {
			return // closed; the poll remains
		}
		w.hear(buf[:n])
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

func (w *watch) hear(data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := bytes.NewReader(data)
	for {
		var e unix.InotifyEvent
		if err := binary.Read(r, binary.NativeEndian, &e); errors.Is(err, io.EOF) {
			return
		}
		name := make([]byte, e.Len)
		if _, err := io.ReadFull(r, name); err != nil {
			return
		}
		if int(e.Wd) == w.id && e.Mask&(unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO) != 0 {
			w.written[filepath.Join(w.dir, unix.ByteSliceToString(name))] = true
		}
	}
}

// take returns the files that were written since the last call.
func (w *watch) take() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	written := w.written
	w.written = map[string]bool{}
	return written
}

func (w *watch) close() {
	if w.broken == nil {
		_ = w.file.Close()
	}
}
