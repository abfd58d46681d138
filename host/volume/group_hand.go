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

// handToGroup gives the files of a volume that outlives the pod to the pod's group. If the pod asks for it, it does
// nothing if the volume itself belongs to the group already.
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
		return false, fmt.Errorf("find the owner of the volume: %w", err)
	}
	const wanted = unix.S_ISGID | uint32(groupAll)
	return int(stat.Gid) == gid && stat.Mode&wanted == wanted, nil
}

// handover gives files to a group. Other pods may use the volume meanwhile, so it works in directories that it holds
// open, and follows no link.
type handover struct{ gid int }

// deepestHandover bounds how far it descends, with a few files open for each step.
const deepestHandover = 500

// all gives a directory away after all that is in it: if the directory does not belong to the group, the work was cut
// short.
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

// give changes the owner and the mode of an open file. The owner comes first: a change of it may clear bits of the
// mode.
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
