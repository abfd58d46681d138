package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// csiDir is the name of CSI volumes in paths.
const csiDir = "kubernetes.io~csi"

// Drivers bring the volumes of CSI.
type Drivers interface {
	// Publish mounts a volume for a pod. It changes nothing that is there.
	Publish(ctx context.Context, p node.Publication) error
	// Unpublish takes a volume from its pod. It succeeds if nothing was published at the path.
	Unpublish(ctx context.Context, path string) error
}

// setUpCSI has a driver mount a volume.
func (t *Tree) setUpCSI(ctx context.Context, at place) error {
	switch {
	case t.CSI == nil:
		return fmt.Errorf("a CSI volume: %w", node.ErrUnsupported)
	case node.FromCluster(at.lasting):
		return fmt.Errorf("a CSI volume of a cluster, which may have to be attached by a VolumeAttachment: %w", node.ErrUnsupported)
	}
	return t.CSI.Publish(ctx, node.Publication{
		Volume: at.lasting, Path: at.dir, ReadOnly: at.readOnly || at.lasting.Spec.CSI.ReadOnly, Group: node.FSGroup(at.pod),
		Hand: at.handCSI,
	})
}

// handCSI gives the files of a volume to the pod's group where Kubernetes does so without a CSIDriver object: if the
// volume has a type of file system and one node may write it.
func (at place) handCSI(path string) error {
	spec := &at.lasting.Spec
	if spec.CSI.FSType == "" || spec.CSI.ReadOnly || !slices.Contains(spec.AccessModes, corev1.ReadWriteOnce) {
		return nil
	}
	return at.handToGroup(path)
}

// unpublish has drivers take their volumes from the directory of a pod.
func (t *Tree) unpublish(ctx context.Context, dir string) error {
	if t.CSI == nil {
		return nil
	}
	volumes, err := os.ReadDir(filepath.Join(dir, volumesDir, csiDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, volume := range volumes {
		if err := t.CSI.Unpublish(ctx, filepath.Join(dir, volumesDir, csiDir, volume.Name(), "mount")); err != nil {
			errs = append(errs, fmt.Errorf("UnmountVolume.TearDown failed for volume %q : %w", volume.Name(), err))
		}
	}
	return errors.Join(errs...)
}
