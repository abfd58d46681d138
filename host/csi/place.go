package csi

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	storagev1 "k8s.io/api/storage/v1"

	"nodal/host/replace"
	"nodal/node"
)

// Names of paths, as every kubelet has them.
const (
	stagedIn = "kubernetes.io/csi"
	stagedAt = "globalmount"
	podsDirs = "*/volumes/kubernetes.io~csi/*"
	tagName  = "vol_data.json"
	mostTag  = 64 << 10

	publishedAt = "mount" // in the directory of a pod's volume
)

// whole is the mode bit that marks the directory of a volume after its driver has made it ready. For a directory into
// which only root writes it has no other effect.
const whole = fs.ModeSticky

// tag names the volume to which a directory belongs, in upstream's form.
type tag struct {
	Driver    string                        `json:"driverName"`
	Handle    string                        `json:"volumeHandle"`
	Name      string                        `json:"specVolID,omitempty"`
	Lifecycle storagev1.VolumeLifecycleMode `json:"volumeLifecycleMode,omitempty"`
}

func (t tag) volume() node.CSIVolume { return node.CSIVolume{Driver: t.Driver, Handle: t.Handle} }

// stageDir returns the directory of a volume on the node. The driver's name is one word: nothing else could register.
func (v *Volumes) stageDir(id node.CSIVolume) string {
	return filepath.Join(v.Dir, stagedIn, filepath.Base(id.Driver), fmt.Sprintf("%x", sha256.Sum256([]byte(id.Handle))))
}

// readTag reads to which volume a directory belongs.
func readTag(dir string) (t tag, err error) {
	f, err := os.Open(filepath.Join(dir, tagName))
	if err != nil {
		return t, err
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, mostTag)).Decode(&t); err != nil {
		return t, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return t, nil
}

// tagged returns the directories below one that have a tag. Those that cannot be read have none.
func tagged(below, pattern string) (dirs []string) {
	tags, _ := fs.Glob(os.DirFS(below), pattern+"/"+tagName) // the patterns are fine
	for _, at := range tags {
		dirs = append(dirs, filepath.Join(below, filepath.Dir(at)))
	}
	return dirs
}

// prepare makes the directory of a volume, with its tag and without its mark.
func prepare(dir string, t tag) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return errors.Join(replace.File(filepath.Join(dir, tagName), append(text, '\n'), 0o600), mark(dir, 0))
}

// mark sets or clears the mark of a directory.
func mark(dir string, mark fs.FileMode) error {
	if err := os.Chmod(dir, 0o750|mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// marked reports whether a directory is there, and whether it has the mark.
func marked(dir string) (there, is bool, err error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	return true, info.Mode()&whole != 0, nil
}

// mounted asks the kernel's table whether something is mounted at a path. It does not touch what is mounted, which may
// not answer.
func mounted(path string) (bool, error) {
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	points, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(filepath.Join(parent, filepath.Base(path))))
	return len(points) > 0, err
}

// remove removes the directory of a volume that is not mounted any more.
func remove(dir, point string) error {
	there, err := mounted(point)
	if err != nil {
		return err
	}
	if there {
		return fmt.Errorf("the driver says that it is done, and something is still mounted at %s", point)
	}
	for _, path := range []string{point, filepath.Join(dir, tagName), dir} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// holders returns the directories of pods that have a volume, or may have it.
func (v *Volumes) holders(id node.CSIVolume) (held []string, err error) {
	for _, dir := range tagged(v.Pods, podsDirs) {
		t, err := readTag(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err // it may be of this volume
		}
		if t.volume() == id {
			held = append(held, strings.TrimPrefix(dir, v.Pods+"/"))
		}
	}
	return held, nil
}
