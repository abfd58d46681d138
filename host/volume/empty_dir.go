package volume

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"nodal/node/limit"
)

// emptyDirMode lets every user of every container in.
const emptyDirMode = 0o777

// setUpEmptyDir makes an empty volume, with its mode from its first moment. Once it is
// there it is the containers', and so are its mode and group.
func (t *Tree) setUpEmptyDir(_ context.Context, at place) error {
	source := at.volume.EmptyDir
	mode := fs.FileMode(emptyDirMode)
	if source.Mode != nil {
		mode = modeOf(*source.Mode)
	}
	switch source.Medium {
	case corev1.StorageMediumDefault:
		return makeWhole(at.dir, func(fresh string) error {
			at.dir = fresh
			return at.setMode(mode, groupAll)
		})
	case corev1.StorageMediumMemory:
		options := at.mountOptions(mode)
		if size := t.memorySize(at.pod, source); size > 0 {
			options += fmt.Sprintf(",size=%d", size)
		}
		return mountTmpfs(at.dir, options, 0)
	}
	return mountHugePages(at, mode)
}

// memorySize bounds a volume in memory: by its own limit, and by what its pod as a
// whole or the node may use. Zero is the kernel's own bound.
func (t *Tree) memorySize(pod *corev1.Pod, source *corev1.EmptyDirVolumeSource) int64 {
	allocatable := t.allocatable()
	size := allocatable.Memory().Value()
	bounds := []int64{limit.OfPod(pod, limit.Rules{}).Memory}
	if source.SizeLimit != nil {
		bounds = append(bounds, source.SizeLimit.Value())
	}
	for _, bound := range bounds {
		if bound > 0 && (size == 0 || bound < size) {
			size = bound
		}
	}
	return size
}

// makeDir makes a directory unless it is there.
func makeDir(dir string) error {
	if err := os.Mkdir(dir, 0o750); err != nil && !os.IsExist(err) {
		return fmt.Errorf("make the volume's directory: %w", err)
	}
	return nil
}

// makeWhole makes a directory unless it is there. It appears when it is as it is to be.
func makeWhole(path string, finish func(path string) error) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	fresh := unfinished(path)
	if err := makeDir(fresh); err != nil {
		return err
	}
	if err := finish(fresh); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

func unfinished(path string) string {
	return filepath.Join(filepath.Dir(path), ".new-"+filepath.Base(path))
}

// chmod sets a mode whatever the process' umask. One that is set already is not
// set again: a container may run that watches.
func chmod(path string, mode fs.FileMode) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&^fs.ModeDir != mode {
		err = os.Chmod(path, mode)
	}
	if err != nil {
		return fmt.Errorf("set the mode of the volume: %w", err)
	}
	return nil
}

// modeOf reads a mode as Kubernetes writes it, as chmod's number.
func modeOf(number int32) fs.FileMode {
	mode := fs.FileMode(number) & fs.ModePerm
	if number&0o1000 != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}
