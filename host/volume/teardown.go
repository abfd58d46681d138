package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// goneMark begins the names of directories whose pods are gone. No UID begins with it.
const goneMark = ".gone-"

// TearDown unmounts and removes the volumes of a pod in which nothing runs any more. Missing volumes are no error.
func (t *Tree) TearDown(ctx context.Context, uid types.UID) error {
	if err := t.tearDown(ctx, uid); err != nil {
		return &node.Failure{Reason: node.FailedUnmount, Err: fmt.Errorf("tear down the volumes of uid %s: %w", uid, err)}
	}
	return nil
}

func (t *Tree) tearDown(ctx context.Context, uid types.UID) error {
	dir, err := t.podDir(uid)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := unmountBelow(dir); err != nil {
		return err
	}
	for _, name := range []string{subPathsDir, volumesDir} {
		if err := removeTree(ctx, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	// Other packages remove their own files of the pod.
	if err := os.Remove(dir); err != nil && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Sweep removes the volumes that this node has made for pods for which keep is false. It renames each directory
// first, so that a pod with the same UID may come back meanwhile.
func (t *Tree) Sweep(ctx context.Context, keep func(types.UID) bool) error {
	entries, err := os.ReadDir(t.Pods)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the remains of deleted pods: %w", err)
	}
	var errs []error
	found := 0
	for _, e := range entries { // those of an earlier sweep come first
		dir, err := t.setAside(e.Name(), keep)
		if err == nil && dir == "" {
			continue
		}
		found++
		if err == nil {
			err = unmountAndRemove(ctx, dir)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove the remains of uid %s: %w", e.Name(), err))
		}
	}
	if t.Swept != nil {
		t.Swept(found-len(errs), len(errs))
	}
	return errors.Join(errs...)
}

// unmountAndRemove removes a directory, and unmounts everything below it first.
func unmountAndRemove(ctx context.Context, dir string) error {
	if err := unmountBelow(dir); err != nil {
		return err
	}
	return removeTree(ctx, dir)
}

// setAside renames a directory of ours that is not kept, and returns its new path. A directory that an
// earlier sweep renamed is returned as it is. For all others it returns "".
func (t *Tree) setAside(name string, keep func(types.UID) bool) (string, error) {
	if strings.HasPrefix(name, goneMark) {
		return filepath.Join(t.Pods, name), nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	uid := types.UID(name)
	if !t.IsOurs(uid) || t.inUse[uid] > 0 || keep(uid) {
		return "", nil
	}
	aside := filepath.Join(t.Pods, goneMark+name)
	return aside, os.Rename(filepath.Join(t.Pods, name), aside)
}
