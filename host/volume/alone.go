package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// errInUse has Kubernetes' words.
var errInUse = errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")

// aloneIn makes the directory of a volume that one pod alone may have. It fails as long as another pod has such a directory,
// which goes when that pod has given the volume back. So the first pod keeps the volume over a crash, too.
func (t *Tree) aloneIn(at place, of kind) error {
	if at.lasting == nil || of.dir == "" || !slices.Contains(at.lasting.Spec.AccessModes, corev1.ReadWriteOncePod) {
		return nil
	}
	t.alone.Lock()
	defer t.alone.Unlock()
	pods, err := os.ReadDir(t.Pods)
	if err != nil {
		return fmt.Errorf("look for pods that have the volume: %w", err)
	}
	for _, pod := range pods {
		if pod.Name() == string(at.pod.UID) || !pod.IsDir() {
			continue
		}
		// The parent is read, not the volume: a dead server would not answer.
		volumes, err := os.ReadDir(filepath.Join(t.Pods, pod.Name(), volumesDir, of.dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look whether a pod has the volume: %w", err)
		}
		if slices.ContainsFunc(volumes, func(v fs.DirEntry) bool { return v.Name() == at.lasting.Name }) {
			return errInUse
		}
	}
	own := at.dir
	if of.below != "" {
		own = filepath.Dir(own)
	}
	return makeDir(own)
}
