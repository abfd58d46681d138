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

// handToGroup gives what lies in a volume that lasts to the group of the pod, all
// of it or, where the pod says so, only if the volume itself is not the group's.
func (at place) handToGroup(path string) error {
	gid, ok := fsGroup(at.pod)
	if !ok || at.readOnly {
		return nil
	}
	policy := at.pod.Spec.SecurityContext.FSGroupChangePolicy
	if policy != nil && *policy == corev1.FSGroupChangeOnRootMismatch {
		if fits, err := belongs(path, gid); fits || err != nil {
			return err
		}
	}
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("give the volume to the group: %w", err)
	}
	defer dir.Close()
	if err := (handover{gid}).all(dir, 0); err != nil {
		return fmt.Errorf("give the volume to the group: %w", err)
	}
	return nil
}

func belongs(path string, gid int) (bool, error) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return false, fmt.Errorf("look whom the volume belongs to: %w", err)
	}
	const wanted = unix.S_ISGID | uint32(groupAll)
	return int(stat.Gid) == gid && stat.Mode&wanted == wanted, nil
}

// handover gives files to a group. Other pods may use the volume meanwhile, so
// each step is made in a directory that is held open, and no link is followed.
type handover struct{ gid int }

// deepestHandover bounds how far it descends, with a few files open for each step.
const deepestHandover = 500

// all begins with what is deepest: as long as the directory itself is not the
// group's, it is known that not all was done.
func (h handover) all(dir *os.File, depth int) error {
	if depth > deepestHandover {
		return fmt.Errorf("%s: directories lie more than %d deep", dir.Name(), deepestHandover)
	}
	for {
		names, err := dir.Readdirnames(batch)
		for _, name := range names {
			if err := h.one(dir, name, depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	return h.give(int(dir.Fd()), fs.ModeDir)
}

func (h handover) one(parent *os.File, name string, depth int) error {
	how := &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := unix.Openat2(int(parent.Fd()), name, how)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EXDEV) {
		return nil // gone meanwhile, or another file system: not the volume's
	}
	if err != nil {
		return fmt.Errorf("open %s/%s: %w", parent.Name(), name, err)
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return unix.Fchownat(fd, "", -1, h.gid, unix.AT_EMPTY_PATH)
	case unix.S_IFDIR:
		// The same directory once more, now to be read.
		at, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open %s/%s: %w", parent.Name(), name, err)
		}
		dir := os.NewFile(uintptr(at), parent.Name()+"/"+name)
		defer dir.Close()
		return h.all(dir, depth+1)
	}
	return h.give(fd, 0)
}

// give changes what an open descriptor stands for. The owner goes first: a change
// of it may take bits of the mode away.
func (h handover) give(fd int, kind fs.FileMode) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if int(stat.Gid) != h.gid {
		if err := unix.Fchownat(fd, "", -1, h.gid, unix.AT_EMPTY_PATH); err != nil {
			return err
		}
	}
	mode := stat.Mode&0o7777 | 0o660
	if kind.IsDir() {
		mode |= unix.S_ISGID | 0o110
	}
	if mode == stat.Mode&0o7777 {
		return nil
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode)
}
