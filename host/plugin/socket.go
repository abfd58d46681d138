package plugin

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"nodal/node"
)

// Bounds of what is read of the directory.
const (
	mostFiles   = 1000
	mostSockets = 100
)

// scan returns the sockets in a directory, sorted by name and at most mostSockets. It leaves out hidden ones and links.
func scan(dir string) ([]node.PluginSocket, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(mostFiles)
	if len(names) == 0 {
		return nil, ignoreEnd(err)
	}
	slices.Sort(names)
	var sockets []node.PluginSocket
	for _, name := range names {
		if strings.HasPrefix(name, ".") || len(sockets) == mostSockets {
			continue
		}
		fd, birth, err := open(dir, name)
		if err != nil {
			continue // it is no socket, or gone by now
		}
		_ = unix.Close(fd)
		sockets = append(sockets, node.PluginSocket{Name: name, Birth: birth})
	}
	return sockets, nil
}

// open opens a socket without connecting to it or following a link, and returns its birth: device, inode and time of
// writing.
func open(dir, name string) (fd int, birth string, err error) {
	fd, err = unix.Open(filepath.Join(dir, name), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, "", err
	}
	var stat unix.Stat_t
	if err = unix.Fstat(fd, &stat); err == nil && stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		err = unix.ENOTSOCK
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, "", err
	}
	// The time of writing tells sockets with a used inode apart. Unlike the time of change it stays with chmod.
	return fd, fmt.Sprintf("%d.%d.%d", stat.Dev, stat.Ino, stat.Mtim.Nano()), nil
}

// connect connects to the very socket that was found, whatever has its name now.
func connect(ctx context.Context, dir string, socket node.PluginSocket) (net.Conn, error) {
	fd, birth, err := open(dir, socket.Name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if birth != socket.Birth {
		return nil, fmt.Errorf("another socket has its name")
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", fd))
}
