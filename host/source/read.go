package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"nodal/node"
)

const maxFile = 1 << 20

// stamp shows whether a file may have changed since it was read.
type stamp struct {
	device, inode uint64
	size          int64
	modified      time.Time
	changed       syscall.Timespec
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), modified: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.device, s.inode, s.changed = sys.Dev, sys.Ino, sys.Ctim
	}
	return s
}

// list returns the paths that may hold manifests.
func list(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, entry := range entries {
		if plain(entry.Name()) && !entry.IsDir() {
			paths = append(paths, filepath.Join(path, entry.Name()))
		}
	}
	return paths, nil
}

// plain reports whether a file's name is one for a manifest: not hidden, no backup and no
// unsaved copy of an editor. Those name the same pods as the file beside them, and would
// bring them back when it is removed.
func plain(name string) bool {
	return !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "#") && !strings.HasSuffix(name, "~")
}

// check refuses files that must not be opened: opening a device can have effects.
func check(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	if info.Size() > maxFile {
		return tooLarge(maxFile)
	}
	return nil
}

func tooLarge(limit int) error {
	return fmt.Errorf("it has more than %d bytes: %w", limit, node.ErrTooLarge)
}

var errInMotion = errors.New("it is being written")

// slurp reads a small regular file, unless it was written since the look. It never blocks: neither on a pipe that has
// taken the file's place, nor on a special file of the kernel that a link leads to.
func slurp(path string, looked fs.FileInfo) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := check(info); err != nil {
		return nil, err
	}
	if err := file.SetReadDeadline(time.Now().Add(time.Second)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return nil, err
	}
	data, err := readAll(file, maxFile)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	if info.Size() != looked.Size() || !info.ModTime().Equal(looked.ModTime()) {
		return nil, errInMotion
	}
	return data, nil
}

// readAll reads up to a limit: a file can grow while it is read, and a server may send any amount.
func readAll(r io.Reader, limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > limit {
		return nil, tooLarge(limit)
	}
	return data, nil
}
