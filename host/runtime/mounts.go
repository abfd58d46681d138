package runtime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mount is a line of the mount table.
type mount struct {
	root    string // what of the file system is mounted
	point   string
	kind    string
	options string // of the file system
}

func mounts() []mount {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return parseMounts(string(raw))
}

func parseMounts(table string) []mount {
	var all []mount
	for line := range strings.Lines(table) {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if ok && len(f) > 4 && len(g) > 2 {
			all = append(all, mount{root: unescape(f[3]), point: unescape(f[4]), kind: g[0], options: g[2]})
		}
	}
	return all
}

// unescape undoes the kernel's way with blanks.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// mounted are the mounts in the node's directories. The kernel names no links.
func (l layout) mounted() []mount {
	for _, dir := range []*string{&l.root, &l.state} {
		if real, err := filepath.EvalSymlinks(*dir); err == nil {
			*dir = real
		}
	}
	return slices.DeleteFunc(mounts(), func(m mount) bool { return !l.holds(m.point) })
}

// unmountAll unmounts what lies in the node's directories, last mounted first.
// Each is taken alone: what is mounted from elsewhere is only let go of.
func (l layout) unmountAll() error {
	var errs []error
	for _, m := range slices.Backward(l.mounted()) {
		err := unix.Unmount(m.point, unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, unix.EBUSY) {
			err = unix.Unmount(m.point, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH)
		}
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("unmount %s: %w", m.point, err))
		}
	}
	return errors.Join(errs...)
}
