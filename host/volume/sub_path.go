package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// part is a file or directory of a volume that a container gets alone.
type part struct {
	volume string // where it lies
	path   string // in the volume
	fixed  bool   // nothing may be made in the volume
	target string // where the part is mounted for the runtime
}

// mount finds the part and mounts it at its target. A container may turn any directory of its volume into a link at
// any moment, so nothing is looked up twice. The kernel resolves the path beneath the volume, and the result is
// mounted by its open descriptor, not by its name.
func (p part) mount() error {
	volume, err := unix.Open(p.volume, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the volume: %w", err)
	}
	defer unix.Close(volume)
	found, err := openBeneath(volume, p.path)
	if errors.Is(err, unix.ENOENT) && p.fixed {
		return p.stand()
	}
	if errors.Is(err, unix.ENOENT) {
		found, err = makeBeneath(volume, p.path)
	}
	if errors.Is(err, unix.EXDEV) {
		return fmt.Errorf("it leads out of the volume: %w", err)
	}
	if err != nil {
		return fmt.Errorf("open it: %w", err)
	}
	defer unix.Close(found)
	return p.bind(found)
}

// openBeneath finds a path below a directory, through links that stay below it.
func openBeneath(dir int, path string) (int, error) { return openAt(dir, path, unix.RESOLVE_BENEATH) }

// openAt finds a path below a directory. bounds says what becomes of links that leave it.
func openAt(dir int, path string, bounds uint64) (int, error) {
	how := &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: bounds | unix.RESOLVE_NO_MAGICLINKS,
	}
	const tries = 100
	for try := 1; ; try++ {
		fd, err := unix.Openat2(dir, path, how)
		// The kernel gives up if a rename interferes with its check.
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) || try == tries {
			return fd, err
		}
	}
}

// makeBeneath makes the missing directories of a path with the mode of the volume. It makes each in a directory that it
// holds open.
func makeBeneath(volume int, path string) (int, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(volume, &stat); err != nil {
		return -1, err
	}
	parent, err := openBeneath(volume, ".")
	if err != nil {
		return -1, err
	}
	done := ""
	for name := range strings.SplitSeq(filepath.Clean(path), "/") {
		done = filepath.Join(done, name)
		next, err := openBeneath(volume, done)
		if errors.Is(err, unix.ENOENT) {
			next, err = makeIn(parent, name, stat.Mode&0o7777)
		}
		unix.Close(parent)
		if err != nil {
			return -1, err
		}
		parent = next
	}
	return parent, nil
}

func makeIn(parent int, name string, mode uint32) (int, error) {
	if err := unix.Mkdirat(parent, name, mode); err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, err
	}
	how := &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	fd, err := unix.Openat2(parent, name, how)
	if err != nil {
		return -1, err
	}
	if err := unix.Fchmod(fd, mode); err != nil { // whatever the process' umask
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// bind mounts an open file or directory at the target, unless it is mounted there already.
func (p part) bind(found int) error {
	var want, have unix.Stat_t
	if err := unix.Fstat(found, &want); err != nil {
		return err
	}
	mounted, err := isMount(p.target)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	if mounted && unix.Lstat(p.target, &have) == nil && have.Dev == want.Dev && have.Ino == want.Ino {
		return nil
	}
	if err := p.clear(); err != nil {
		return err
	}
	if err := p.makeTarget(want.Mode&unix.S_IFMT == unix.S_IFDIR); err != nil {
		return err
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", found), p.target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount it at %s: %w", p.target, err)
	}
	return nil
}

// stand makes an empty directory in place of a part that is missing in the volume, as upstream does. The volume
// itself does not change.
func (p part) stand() error {
	if err := p.clear(); err != nil {
		return err
	}
	return p.makeTarget(true)
}

// clear removes the target of an earlier run of the container.
func (p part) clear() error {
	for {
		mounted, err := isMount(p.target)
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		if err != nil {
			return err
		}
		if !mounted {
			return os.Remove(p.target)
		}
		if err := unmount(p.target); err != nil {
			return err
		}
	}
}

func (p part) makeTarget(dir bool) error {
	if err := os.MkdirAll(filepath.Dir(p.target), 0o750); err != nil {
		return err
	}
	if dir {
		return os.Mkdir(p.target, 0o755)
	}
	return os.WriteFile(p.target, nil, 0o600)
}
