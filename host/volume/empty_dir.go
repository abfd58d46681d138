package volume

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

// memorySize bounds a volume in memory: by its own limit, and by what its pod or
// the node may use. Zero is the kernel's own bound.
func (t *Tree) memorySize(pod *corev1.Pod, source *corev1.EmptyDirVolumeSource) int64 {
	size := t.Allocatable.Memory().Value()
	for _, limit := range []*resource.Quantity{podMemory(pod), source.SizeLimit} {
		if limit != nil && limit.Value() > 0 && (size == 0 || limit.Value() < size) {
			size = limit.Value()
		}
	}
	return size
}

// podMemory is what the containers of a pod may use together; nil when one of them
// has no limit.
func podMemory(pod *corev1.Pod) *resource.Quantity {
	sum := &resource.Quantity{}
	for i := range pod.Spec.Containers {
		limit, ok := pod.Spec.Containers[i].Resources.Limits[corev1.ResourceMemory]
		if !ok {
			return nil
		}
		sum.Add(limit)
	}
	return sum
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
