package volume

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// maxEnvFile bounds what is read of a file of variables. No container could have as many.
const maxEnvFile = 4 << 20

// OpenFile opens a file that a container has written to an empty volume of its pod. A container may make any file
// there, also links, pipes and devices, and replace it at any moment. So the kernel looks the path up with the volume
// as its root, and only a regular file is opened.
func (t *Tree) OpenFile(pod *corev1.Pod, volume, path string) (io.ReadCloser, error) {
	at, _, err := t.find(pod, volume)
	if err != nil {
		return nil, err
	}
	if at.volume.EmptyDir == nil {
		return nil, fmt.Errorf("volume %q is no emptyDir", volume)
	}
	dir, err := unix.Open(at.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot find the volume %q referenced by FileKeyRef: a container has to mount it: %v",
			volume, err)
	}
	defer unix.Close(dir)
	found, err := openAt(dir, path, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(found)
	var stat unix.Stat_t
	if err := unix.Fstat(found, &stat); err != nil {
		return nil, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("it is no regular file")}
	}
	file, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", found))
	if err != nil {
		return nil, err
	}
	return &bounded{File: file, left: maxEnvFile}, nil
}

// bounded fails after a number of bytes.
type bounded struct {
	*os.File
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, fmt.Errorf("it has more than %d bytes", maxEnvFile)
	}
	n, err := b.File.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
