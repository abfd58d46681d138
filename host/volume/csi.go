package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

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
	// Published returns when the volume at a path was last published; the zero value if there is none.
	Published(path string) (time.Time, error)
	// Republish publishes a volume again. It leaves one that its pod does not have.
	Republish(ctx context.Context, p node.Publication) error
	// Unpublish takes a volume from its pod. It succeeds if nothing was published at the path.
	Unpublish(ctx context.Context, path string) error
}

// setUpCSI has a driver mount a volume.
func (t *Tree) setUpCSI(ctx context.Context, at place) error {
	if t.CSI == nil {
		return fmt.Errorf("a CSI volume: %w", node.ErrUnsupported)
	}
	return t.CSI.Publish(ctx, t.publication(at))
}

// publication says how a pod gets a volume of a driver.
func (t *Tree) publication(at place) node.Publication {
	p := node.Publication{
		Volume: at.lasting, Inline: at.volume.CSI != nil, Terms: t.terms(at.lasting.Spec.CSI.Driver), Pod: at.pod, Path: at.dir,
		ReadOnly: at.readOnly || at.lasting.Spec.CSI.ReadOnly, Group: node.FSGroup(at.pod),
	}
	p.Hand = func(path string) error { return at.handCSI(path, p.Terms) }
	return p
}

// Published returns when a driver last published a volume for its pod; the zero value if the pod does not have it.
func (t *Tree) Published(_ context.Context, v node.PublishedVolume) (time.Time, error) {
	at, kind, err := t.find(v.Pod.Allocated(), v.Name)
	if err != nil || kind.dir != csiDir || t.CSI == nil {
		return time.Time{}, err
	}
	return t.CSI.Published(at.dir)
}

// Republish has a driver publish a volume again that a pod has.
func (t *Tree) Republish(ctx context.Context, v node.PublishedVolume) error {
	if err := t.enter(v.Pod.UID()); err != nil {
		return err
	}
	defer t.leave(v.Pod.UID())
	at, kind, err := t.find(v.Pod.Allocated(), v.Name)
	if err == nil && kind.dir == csiDir && t.CSI != nil {
		err = t.CSI.Republish(ctx, t.publication(at))
	}
	return failedSetUp(v.Name, err)
}

// terms returns what is known of how volumes of a driver are published, or nil.
func (t *Tree) terms(driver string) *storagev1.CSIDriverSpec {
	object, ok := t.Objects.Object(node.ObjectRef{Kind: node.CSIDriverObject, Name: driver})
	if !ok {
		return nil
	}
	return &node.As[*storagev1.CSIDriver](object).Spec
}

// handCSI gives the files of a volume to the pod's group where Kubernetes does so.
func (at place) handCSI(path string, terms *storagev1.CSIDriverSpec) error {
	var policy storagev1.FSGroupPolicy
	if terms != nil && terms.FSGroupPolicy != nil {
		policy = *terms.FSGroupPolicy
	}
	if at.block() || !hands(&at.lasting.Spec, policy, at.readOnly) {
		return nil
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
