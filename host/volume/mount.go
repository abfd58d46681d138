package volume

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// mountTmpfs mounts a file system in memory on a directory.
func mountTmpfs(dir, options string, flags uintptr) error {
	if there, err := makeMountPoint(dir); there || err != nil {
		return err
	}
	// A kernel before 6.4 cannot promise that it never writes it to swap.
	err := unix.Mount("tmpfs", dir, "tmpfs", flags, strings.Trim(options+",noswap", ","))
	if errors.Is(err, unix.EINVAL) {
		err = unix.Mount("tmpfs", dir, "tmpfs", flags, options)
	}
	if err != nil {
		return fmt.Errorf("mount a tmpfs at %s: %w", dir, err)
	}
	return nil
}

// makeMountPoint makes a directory, and reports whether something is mounted there already.
func makeMountPoint(dir string) (mounted bool, err error) {
	if err := makeDir(dir); err != nil {
		return false, err
	}
	return isMount(dir)
}

// isMount asks the kernel whether something is mounted right at a path.
func isMount(path string) (bool, error) {
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE, &stat); err != nil {
		return false, fmt.Errorf("ask what is mounted at %s: %w", path, err)
	}
	if stat.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT == 0 {
		return false, fmt.Errorf("ask what is mounted at %s: this takes Linux 5.8: %w", path, errors.ErrUnsupported)
	}
	return stat.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, nil
}

// mountPoint is a path on which a file system of a kind is mounted.
type mountPoint struct{ path, kind string }

// mountsBelow lists the mount points below a directory, in the order in which they were mounted. Their paths begin with
// that of the directory, links and all.
func mountsBelow(dir string) ([]mountPoint, error) {
	real, err := filepath.EvalSymlinks(dir) // the kernel resolves links
	if err != nil {
		return nil, fmt.Errorf("look for mounts: %w", err)
	}
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return !strings.HasPrefix(m.Mountpoint, real+"/"), false
	})
	if err != nil {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	points := make([]mountPoint, len(mounts))
	for i, m := range mounts {
		points[i] = mountPoint{filepath.Join(dir, m.Mountpoint[len(real):]), m.FSType}
	}
	return points, nil
}

// unmountBelow unmounts all mount points below a directory, the last mounted first: nothing is mounted below that one.
func unmountBelow(dir string) error {
	points, err := mountsBelow(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, point := range slices.Backward(points) {
		if point.overNetwork() {
			errs = append(errs, letGo(point.path, func(flags int) error { return unix.Unmount(point.path, flags) }))
			continue
		}
		errs = append(errs, unmount(point.path))
	}
	return errors.Join(errs...)
}

// unmount unmounts a path. It succeeds if nothing is mounted there.
func unmount(point string) error {
	err := unix.Unmount(point, unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount %s: %w", point, err)
	}
	return nil
}
