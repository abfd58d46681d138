package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// floor is the time between scans of a directory in which nothing happens: an event may be lost.
	floor = 30 * time.Second
	// settle is the pause before a scan, so that a plugin that makes sockets without end is scanned for a few times a
	// second.
	settle = 100 * time.Millisecond
)

// Run scans the directory when it changes, and writes the sockets on the board, until the context ends.
func (r *Registry) Run(ctx context.Context) {
	defer r.end()
	events, err := listen()
	if err != nil {
		r.Log.Warn("cannot watch the plugin registry; it is scanned twice a minute", "err", err)
	}
	defer events.close()
	timer := time.NewTimer(floor)
	defer timer.Stop()
	fault := ""
	for {
		err := errors.Join(events.watch(r.Dir), r.scan())
		if text := fmt.Sprint(err); err != nil && text != fault {
			r.Log.Warn("cannot read the plugin registry", "dir", r.Dir, "err", err)
			fault = text
		} else if err == nil {
			fault = ""
		}
		timer.Reset(floor)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-events.wake:
			if !pause(ctx, settle) {
				return
			}
		}
	}
}

// scan writes the sockets of the directory on the board. A directory that is gone has none; one that cannot be read
// changes nothing.
func (r *Registry) scan() error {
	sockets, err := scan(r.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.Board.Found(sockets, time.Now())
	return nil
}

// pause waits, and reports whether the context goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// ignoreEnd returns err, but nil for io.EOF: an empty directory.
func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// events wakes a scan when inotify reports a change of a directory. The zero value, for a machine without inotify,
// never does.
type events struct {
	file *os.File
	fd   int // of file, whose method Fd would make it block
	wake chan struct{}
}

// listen opens inotify. No directory is watched until watch names one.
func listen() (events, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return events{}, fmt.Errorf("open inotify: %w", err)
	}
	e := events{file: os.NewFile(uintptr(fd), "inotify"), fd: fd, wake: make(chan struct{}, 1)}
	go func() {
		for buf := make([]byte, 16<<10); ; {
			if _, err := e.file.Read(buf); err != nil {
				return // it was closed
			}
			select {
			case e.wake <- struct{}{}:
			default:
			}
		}
	}()
	return e, nil
}

// watch adds a directory to those that inotify watches. Called again, it adds the directory that has the name by then.
func (e events) watch(dir string) error {
	if e.file == nil {
		return nil
	}
	const changes = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF |
		unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	if _, err := unix.InotifyAddWatch(e.fd, dir, changes); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("watch %s: %w", dir, err)
	}
	return nil
}

func (e events) close() {
	if e.file != nil {
		_ = e.file.Close()
	}
}
