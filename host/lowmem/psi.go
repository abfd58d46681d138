package lowmem

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// trigger asks for an event when some tasks together have waited for memory for a tenth of a second within two seconds.
// Without CAP_SYS_RESOURCE the kernel takes no shorter window.
const trigger = "some 100000 2000000\x00"

// watchPSI calls wake for each event of a pressure file, until the context ends or the file's cgroup is removed. It
// returns at once if the kernel does not count pressure.
func watchPSI(ctx context.Context, file string, wake func()) error {
	fd, err := unix.Open(file, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(trigger)); err != nil {
		return fmt.Errorf("ask for events of %s: %w", file, err)
	}
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch %s: %w", file, err)
	}
	defer unix.Close(stop)
	interrupted := make(chan struct{})
	undo := context.AfterFunc(ctx, func() {
		_, _ = unix.Write(stop, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // the counter has room
		close(interrupted)
	})
	defer func() {
		if !undo() {
			<-interrupted
		}
	}()
	// The poller of Go does not wait for priority events.
	for ctx.Err() == nil {
		events := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLPRI}, {Fd: int32(stop), Events: unix.POLLIN}}
		switch _, err := unix.Poll(events, -1); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("watch %s: %w", file, err)
		case events[0].Revents&unix.POLLERR != 0:
			return nil // the cgroup is gone
		case events[0].Revents&unix.POLLPRI != 0:
			wake()
		}
	}
	return nil
}
