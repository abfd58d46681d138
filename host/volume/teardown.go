package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

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
	if err := t.unpublish(ctx, dir); err != nil {
		return err
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
