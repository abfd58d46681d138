package uevent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// kernelGroup is the group that the kernel's own messages go to.
const kernelGroup = 1

// longest bounds a message. The kernel's own are at most 2 KiB, and a line before them.
const longest = 16 << 10

// Watch calls wake for each message about a device of one of the subsystems, until the context ends.
func Watch(ctx context.Context, wake func(), subsystems ...string) error {
	messages, err := listen()
	if err != nil {
		return fmt.Errorf("listen to the kernel's device events: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { messages.Close() })
	defer stop()
	defer messages.Close()
	buffer := make([]byte, longest)
	for {
		n, err := messages.Read(buffer)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ENOBUFS): // some were lost, maybe ours
			wake()
		case err != nil:
			return fmt.Errorf("read the kernel's device events: %w", err)
		case slices.Contains(subsystems, subsystem(string(buffer[:n]))):
			wake()
		}
	}
}

// listen opens a socket that the runtime's poller waits for, so that closing it ends a read.
func listen() (*os.File, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil, err
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: kernelGroup}); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "uevent"), nil
}

// subsystem returns the kind of device that a message is about: a line such as "online@/devices/system/cpu/cpu1", and
// after it variables, each ended by a zero.
func subsystem(message string) string {
	for variable := range strings.SplitSeq(message, "\x00") {
		if name, ok := strings.CutPrefix(variable, "SUBSYSTEM="); ok {
			return name
		}
	}
	return ""
}
