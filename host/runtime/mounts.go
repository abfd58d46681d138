package runtime

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// mounted lists the mount points in the node's directories, in the order in which they were mounted.
func (l layout) mounted() ([]string, error) {
	for _, dir := range []*string{&l.root, &l.state} { // the kernel names no links
		if real, err := filepath.EvalSymlinks(*dir); err == nil {
			*dir = real
		}
	}
	all, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return !l.holds(m.Mountpoint), false })
	if err != nil {
		return nil, fmt.Errorf("look for mounts: %w", err)
	}
	points := make([]string, len(all))
	for i, m := range all {
		points[i] = m.Mountpoint
	}
	return points, nil
}

// unmountAll unmounts everything in the node's directories, last mounted first. Each mount is taken alone: what was
// mounted from elsewhere is only let go of.
func (l layout) unmountAll() error {
	points, err := l.mounted()
	if err != nil {
		return err
	}
	var errs []error
	for _, point := range slices.Backward(points) {
		err := unix.Unmount(point, unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, unix.EBUSY) {
			err = unix.Unmount(point, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH)
		}
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("unmount %s: %w", point, err))
		}
	}
	return errors.Join(errs...)
}
