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

// The modes of empty volumes let every user of every container in. In memory a file is for its owner alone to remove:
// that is the mode which the kernel gives a tmpfs, and upstream leaves it.
const (
	emptyDirMode = 0o777
	memoryMode   = fs.ModeSticky | 0o777
)

// setUpEmptyDir makes an empty volume, which appears with its mode. From then on the volume, its mode and its group
// belong to the containers.
func (t *Tree) setUpEmptyDir(_ context.Context, at place) error {
	source := at.volume.EmptyDir
	mode := fs.FileMode(emptyDirMode)
	switch {
	case source.Mode != nil:
		mode = modeOf(*source.Mode)
	case source.Medium == corev1.StorageMediumMemory:
		mode = memoryMode
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

// memorySize returns the bound of a volume in memory: the least of its own limit, the pod's and the node's. Zero
// leaves the kernel's own bound.
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

// makeDir makes a directory unless it exists.
func makeDir(dir string) error {
	if err := os.Mkdir(dir, 0o750); err != nil && !os.IsExist(err) {
		return fmt.Errorf("make the volume's directory: %w", err)
	}
	return nil
}

// makeWhole makes a directory unless it exists. The directory appears only after finish has completed it.
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

// chmod sets a mode, whatever the process' umask. It leaves a mode that is already right: a running container may
// watch the directory.
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
