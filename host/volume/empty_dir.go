package volume

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	corev1 "k8s.io/api/core/v1"

	"nodal/node/limit"
)

// emptyDirMode lets every user of every container in.
const emptyDirMode = 0o777

func (t *Tree) setUpEmptyDir(_ context.Context, at place) error {
	source := at.volume.EmptyDir
	mode := fs.FileMode(emptyDirMode)
	if source.Mode != nil {
		mode = modeOf(*source.Mode)
	}
	switch source.Medium {
	case corev1.StorageMediumDefault:
		if err := makeDir(at.dir); err != nil {
			return err
		}
	case corev1.StorageMediumMemory:
		options := ""
		if size := t.memorySize(at.pod, source); size > 0 {
			options = fmt.Sprintf("size=%d", size)
		}
		if err := mountTmpfs(at.dir, options, 0); err != nil {
			return err
		}
	default:
		if err := mountHugePages(at); err != nil {
			return err
		}
	}
	return at.setMode(mode, groupAll)
}

// memorySize bounds a volume in memory: by its own limit, and by what its pod as a
// whole or the node may use. Zero is the kernel's own bound.
func (t *Tree) memorySize(pod *corev1.Pod, source *corev1.EmptyDirVolumeSource) int64 {
	size := t.Allocatable.Memory().Value()
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
