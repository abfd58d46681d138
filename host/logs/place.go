package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"nodal/node"
)

// place is an open directory of logs, and the name of one of them there. What is read goes through it: a pod may have
// been given the directory, and may plant what leads to files of others.
type place struct {
	root *os.Root
	base string // the file that is written to
	path string // the same for errors, and to watch its directory
}

// placeOf opens the directory of the log at a path that ends as Layout says. Of that end, nothing may be a symbolic
// link, but for the log itself where Docker keeps it elsewhere, by the container's id.
func placeOf(path, id string) (place, error) {
	dir, base := filepath.Split(filepath.Clean(path))
	dir, container := filepath.Split(filepath.Clean(dir))
	pods, pod := filepath.Split(filepath.Clean(dir))
	for _, name := range []string{base, container, pod} {
		if err := checkName(name); err != nil {
			return place{}, openError(path, err)
		}
	}
	root, err := openBelow(pods, pod, container)
	if err != nil {
		return place{}, openError(path, err)
	}
	p := place{root: root, base: base, path: path}
	target, err := root.Readlink(base)
	if err != nil || !ofDocker(target, id) {
		return p, nil // no link, or one that open refuses
	}
	root.Close()
	if p.root, err = os.OpenRoot(filepath.Dir(target)); err != nil {
		return place{}, openError(target, err)
	}
	p.base, p.path = filepath.Base(target), target
	return p, nil
}

// ofDocker reports whether a path is that of the log which Docker keeps of a container: .../ID/ID-json.log.
func ofDocker(target, id string) bool {
	return id != "" && !strings.Contains(id, "/") && filepath.IsAbs(target) &&
		strings.HasSuffix(target, "/"+id+"/"+id+"-json.log")
}

func (p place) close() { p.root.Close() }

func (p place) lstat(suffix string) (fs.FileInfo, error) { return p.root.Lstat(p.base + suffix) }

func (p place) stamps() ([]string, error) { return stampsOf(p.root.FS(), p.base) }

var (
	errMoved  = errors.New("it was replaced while it was opened")
	errShared = errors.New("the file has another name elsewhere (a hard link)")
)

// openTries bounds the attempts to open a log: each may find that it was rotated meanwhile.
const openTries = 5

// open opens the log, or with a suffix one that was rotated away from it. Anything but a regular file with no name
// outside of the directory is refused, and a named pipe does not block.
func (p place) open(suffix string) (file *os.File, err error) {
	for range openTries {
		file, err = p.openOnce(p.base + suffix)
		if !errors.Is(err, errMoved) && !errors.Is(err, errShared) {
			break
		}
	}
	if err != nil {
		return nil, openError(p.path+suffix, err)
	}
	return file, nil
}

func (p place) openOnce(name string) (*os.File, error) {
	named, err := p.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !named.Mode().IsRegular() {
		return nil, refused("it is " + kindOf(named.Mode()))
	}
	file, err := p.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	opened, err := file.Stat()
	switch {
	case err != nil:
	case !os.SameFile(named, opened): // so what was opened may not be what was looked at
		err = errMoved
	case !p.all(opened):
		err = fmt.Errorf("%w: %w", errShared, refused("which may be a file of others"))
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func refused(why string) error {
	return fmt.Errorf("%s; logs are regular files of the runtime: remove it, and the next run begins a new one: %w",
		why, node.ErrInvalid)
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}

// all reports whether all names of a file are names of this log. A rotation gives it a second one for a moment, and
// leaves both if it is killed then.
func (p place) all(file fs.FileInfo) bool {
	stat, ok := file.Sys().(*syscall.Stat_t)
	if !ok || stat.Nlink <= 1 {
		return true
	}
	stamps, err := p.stamps()
	if err != nil {
		return false
	}
	names := uint64(0)
	for _, suffix := range append(suffixes(stamps), "") {
		if named, err := p.lstat(suffix); err == nil && os.SameFile(named, file) {
			names++
		}
	}
	return names == uint64(stat.Nlink)
}

// suffixes are those of rotated logs, packed or not.
func suffixes(stamps []string) []string {
	var all []string
	for _, stamp := range stamps {
		all = append(all, "."+stamp, "."+stamp+packedSuffix)
	}
	return all
}

func openError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open log %q: %w: %w", path, node.ErrNotFound, err)
	}
	return fmt.Errorf("open log %q: %w", path, err)
}
