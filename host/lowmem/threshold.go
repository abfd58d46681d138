package lowmem

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// threshold returns a file that can be read once the usage of a cgroup has grown by a number of bytes.
func threshold(dir string, more int64) (event *os.File, err error) {
	usage, err := os.Open(filepath.Join(dir, "memory.usage_in_bytes"))
	if err != nil {
		return nil, err
	}
	defer usage.Close()
	text := make([]byte, 32)
	n, err := usage.Read(text)
	if err != nil {
		return nil, err
	}
	now, err := strconv.ParseInt(strings.TrimSpace(string(text[:n])), 10, 64)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	event = os.NewFile(uintptr(fd), "memory event")
	request := fmt.Sprintf("%d %d %d", fd, usage.Fd(), now+max(0, more))
	if err := os.WriteFile(filepath.Join(dir, "cgroup.event_control"), []byte(request), 0); err != nil {
		return nil, errors.Join(err, event.Close())
	}
	return event, nil
}

// awaitEvent calls wake for each event, until the file is closed.
func awaitEvent(event *os.File, wake func()) {
	var count [8]byte
	for {
		if _, err := event.Read(count[:]); err != nil {
			return
		}
		wake()
	}
}
