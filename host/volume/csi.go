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
	storagev1 "k8s.io/api/storage/v1"

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
	if t.CSI == nil {
		return fmt.Errorf("a CSI volume: %w", node.ErrUnsupported)
	}
	return t.CSI.Publish(ctx, node.Publication{
		Volume: at.lasting, Pod: at.pod, Path: at.dir, ReadOnly: at.readOnly || at.lasting.Spec.CSI.ReadOnly, Group: node.FSGroup(at.pod),
		Hand: at.handCSI,
	})
}

// handCSI gives the files of a volume to the pod's group where Kubernetes does so.
func (at place) handCSI(path string) error {
	terms, err := node.TermsOf(at.lasting)
	if err != nil || !hands(&at.lasting.Spec, terms.FSGroup, at.readOnly) {
		return err
	}
	return at.handToGroup(path)
}

// hands reports whether the files of a volume go to the pod's group. Without a word of the driver they do if the volume has
// a type of file system and one node may write it.
func hands(v *corev1.PersistentVolumeSpec, policy storagev1.FSGroupPolicy, readOnly bool) bool {
	switch {
	case policy == storagev1.NoneFSGroupPolicy || readOnly || v.CSI.ReadOnly:
		return false
	case policy == storagev1.FileFSGroupPolicy:
		return true
	}
	return v.CSI.FSType != "" && slices.Contains(v.AccessModes, corev1.ReadWriteOnce)
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
