package lockfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pause is the time between two tries.
const pause = 200 * time.Millisecond

// A Lock is held until it is released, or its process ends.
type Lock struct{ file *os.File }

// Take waits until the lock of the file is free, and takes it. It makes the file if there is none.
func Take(ctx context.Context, path string) (*Lock, error) {
	// Programs that the agent starts must not keep the lock: Go opens files so that they are closed there.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	for {
		switch err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return &Lock{file}, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for lock file %s: %w", path, ctx.Err()), file.Close())
		case <-time.After(pause):
		}
	}
}

// Release gives the lock back.
func (l *Lock) Release() error { return l.file.Close() }

// Contended waits until the file is opened again, or removed. It returns the context's error if that ends first.
func (l *Lock) Contended(ctx context.Context) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch lock file: %w", err)
	}
	watch := os.NewFile(uintptr(fd), "inotify")
	stop := context.AfterFunc(ctx, func() { _ = watch.Close() }) // ends the read below
	defer func() {
		if stop() {
			_ = watch.Close()
		}
	}()
	if _, err := unix.InotifyAddWatch(fd, l.file.Name(), unix.IN_OPEN|unix.IN_DELETE_SELF); err != nil {
		return fmt.Errorf("watch lock file %s: %w", l.file.Name(), err)
	}
	if _, err := watch.Read(make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1)); err != nil && ctx.Err() == nil {
		return fmt.Errorf("watch lock file %s: %w", l.file.Name(), err)
	}
	return ctx.Err()
}
