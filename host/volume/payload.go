package volume

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// payload holds the files of a volume, by path. For readers they change all at once, by one rename:
//
//	name    ─▶ ..data/name
//	..data  ─▶ ..2030_01_02_03_04_05.678901234
//	..2030_01_02_03_04_05.678901234/name
type payload map[string]file

type file struct {
	data  []byte
	mode  fs.FileMode
	user  int // that owns it
	group int
}

// like returns the file with the given mode and owner, if there are any.
func (f file) like(mode *int32, user *int64) file {
	if mode != nil {
		f.mode = modeOf(*mode)
	}
	if user != nil {
		f.user = int(*user)
	}
	return f
}

// same reports whether a file on the disk has the wanted attributes.
func (f file) same(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode() == f.mode && int(stat.Uid) == f.user && int(stat.Gid) == f.group && info.Size() == int64(len(f.data))
}

const (
	dataLink = "..data"
	newLink  = "..data_tmp"
	// versionName is the time at which a version was written.
	versionName = "..2006_01_02_15_04_05.000000000"
)

// write brings a directory to these files, with empty directories as mount points of other volumes. It does not write
// again files that are the same already.
func (p payload) write(dir string, mountPoints []string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the volume: %w", err)
	}
	defer root.Close()
	version, err := root.Readlink(dataLink)
	if err != nil || !p.lies(root, version) {
		if version, err = p.lay(root); err != nil {
			return fmt.Errorf("write the files of the volume: %w", err)
		}
	}
	if err := p.link(root, version, mountPoints); err != nil {
		return fmt.Errorf("link the files of the volume: %w", err)
	}
	for _, point := range mountPoints {
		if err := makeDirs(root, point); err != nil {
			return fmt.Errorf("make a mount point in the volume: %w", err)
		}
	}
	return nil
}

var errDiffers = errors.New("it is another file")

// lies reports whether a version on the disk consists of exactly these files.
func (p payload) lies(root *os.Root, version string) bool {
	found := 0
	err := fs.WalkDir(root.FS(), version, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found++
		info, err := d.Info()
		if err != nil {
			return err
		}
		want, ok := p[strings.TrimPrefix(name, version+"/")]
		if !ok || !want.same(info) {
			return errDiffers
		}
		data, err := root.ReadFile(name)
		if err == nil && !bytes.Equal(data, want.data) {
			err = errDiffers
		}
		return err
	})
	return err == nil && found == len(p)
}

// lay writes the files as a new version, and switches readers to it.
func (p payload) lay(root *os.Root) (version string, err error) {
	version = time.Now().UTC().Format(versionName)
	if err := makeDirs(root, version); err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		at := path.Join(version, name)
		if err := makeDirs(root, path.Dir(at)); err != nil {
			return "", err
		}
		if err := p[name].write(root, at); err != nil {
			return "", err
		}
	}
	if err := root.RemoveAll(newLink); err != nil {
		return "", err
	}
	if err := root.Symlink(version, newLink); err != nil {
		return "", err
	}
	return version, root.Rename(newLink, dataLink)
}

// write writes one file. It sets the mode last: a change of the owner may clear bits of it.
func (f file) write(root *os.Root, name string) error {
	if err := root.WriteFile(name, f.data, 0o600); err != nil {
		return err
	}
	if err := root.Chown(name, f.user, f.group); err != nil {
		return err
	}
	return root.Chmod(name, f.mode)
}

// makeDirs makes a directory that every user may read, with its parents.
func makeDirs(root *os.Root, dir string) error {
	made := "."
	for part := range strings.SplitSeq(dir, "/") {
		made = path.Join(made, part)
		err := root.Mkdir(made, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := root.Chmod(made, 0o755); err != nil { // whatever the process' umask
			return err
		}
	}
	return nil
}

// link makes the links of the present names, and removes those of earlier ones.
func (p payload) link(root *os.Root, version string, mountPoints []string) error {
	shown := map[string]bool{dataLink: true, version: true}
	for _, point := range mountPoints {
		shown[first(point)] = true
	}
	for name := range p {
		name = first(name)
		shown[name] = true
		target := path.Join(dataLink, name)
		if now, err := root.Readlink(name); err == nil && now == target {
			continue
		}
		if err := errors.Join(root.RemoveAll(name), root.Symlink(target, name)); err != nil {
			return err
		}
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !shown[e.Name()] {
			if err := root.RemoveAll(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func first(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}
