package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mountTmpfs has a directory be a file system in memory.
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

// makeMountPoint makes a directory and says whether something is mounted there already.
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

// mountPoint is where something is mounted, and of what kind that is.
type mountPoint struct{ path, kind string }

// mountsBelow are the mount points below a directory, named as it is, in the order in
// which they were mounted.
func mountsBelow(dir string) ([]mountPoint, error) {
	real, err := filepath.EvalSymlinks(dir) // the kernel names no links
	if err != nil {
		return nil, fmt.Errorf("look for mounts: %w", err)
	}
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var points []mountPoint
	for line := range strings.Lines(string(table)) {
		before, after, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(kind) < 1 {
			continue
		}
		if path := unescape.Replace(fields[4]); strings.HasPrefix(path, real+"/") {
			points = append(points, mountPoint{filepath.Join(dir, path[len(real):]), kind[0]})
		}
	}
	return points, nil
}

// unmountBelow unmounts what is mounted below a directory, the last mounted first,
// which is always a deepest one.
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

// unmount lets go of what is mounted at a path; nothing is fine.
func unmount(point string) error {
	err := unix.Unmount(point, unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount %s: %w", point, err)
	}
	return nil
}
