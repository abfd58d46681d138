package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/storage"
)

// claimed returns the volume that a claim is bound to. It is either one that a pod may have without a claim too, or a
// local one.
func (t *Tree) claimed(at place, claim string) (place, error) {
	object, ok := t.Objects.Object(node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: at.pod.Namespace, Name: claim})
	if !ok {
		return at, fmt.Errorf("persistentvolumeclaim %q not found", claim)
	}
	c := object.Claim()
	if at.volume.Ephemeral != nil {
		if err := storage.CheckOwner(c, at.pod); err != nil {
			return at, err
		}
	}
	if c.Status.Phase != corev1.ClaimBound {
		return at, fmt.Errorf("persistentvolumeclaim %q is not bound to a volume", claim)
	}
	bound, ok := t.Objects.Object(node.ObjectRef{Kind: node.PersistentVolume, Name: c.Spec.VolumeName})
	if !ok {
		return at, fmt.Errorf("persistentvolume %q of persistentvolumeclaim %q not found", c.Spec.VolumeName, claim)
	}
	source := at.volume.PersistentVolumeClaim
	at.readOnly = source != nil && source.ReadOnly
	at.lasting = bound.Volume()
	at.ending = c.DeletionTimestamp != nil
	if spec := &bound.Volume().Spec; spec.Local == nil {
		at.volume = &corev1.Volume{Name: at.volume.Name, VolumeSource: corev1.VolumeSource{HostPath: spec.HostPath, NFS: spec.NFS}}
	}
	return at, nil
}

var errEnding = errors.New("its persistentvolumeclaim is being deleted")

// setUpLocal mounts a directory of the machine. It does no more: the content belongs to the pods.
func (t *Tree) setUpLocal(_ context.Context, at place) error {
	if err := makeDir(at.dir); err != nil {
		return err
	}
	mounted, err := isMount(at.dir)
	if mounted || err != nil {
		return err
	}
	if at.ending {
		return errEnding
	}
	path := at.lasting.Spec.Local.Path
	if storage.Made(at.lasting) {
		if err := t.make(path); err != nil {
			return err
		}
	}
	if info, err := os.Stat(path); err != nil {
		return fmt.Errorf("look at the directory of the volume: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", path)
	}
	if err := at.handToGroup(path); err != nil {
		return err
	}
	if err := unix.Mount(path, at.dir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", path, at.dir, err)
	}
	return nil
}

// make makes the directory of a volume of the node's own, which is open to every user of a container. It appears with
// its mode, which containers may change later. Other users of the machine cannot reach it.
func (t *Tree) make(path string) error {
	if err := t.holds(path); err != nil {
		return err
	}
	if err := os.MkdirAll(t.Local, 0o700); err != nil {
		return fmt.Errorf("make the directory of the node's own volumes: %w", err)
	}
	return makeWhole(path, func(fresh string) error { return chmod(fresh, emptyDirMode) })
}

// holds refuses a path that is not directly in the directory of the node's own volumes.
func (t *Tree) holds(path string) error {
	if t.Local == "" || filepath.Dir(path) != filepath.Clean(t.Local) {
		return fmt.Errorf("%s is not a volume of the node's own: %w", path, node.ErrInvalid)
	}
	return nil
}

// Left reports whether files of a volume of the node's own are there.
func (t *Tree) Left(_ context.Context, v *corev1.PersistentVolume) (bool, error) {
	path := v.Spec.Local.Path
	err := t.holds(path)
	for _, at := range []string{path, unfinished(path)} {
		if err != nil {
			break
		}
		if _, err = os.Lstat(at); err == nil {
			return true, nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return false, fmt.Errorf("look for the files of persistentvolume %q: %w", v.Name, err)
	}
	return false, nil
}

// Reclaim removes the files of a volume of the node's own that nothing uses any more. Missing files are no error.
func (t *Tree) Reclaim(ctx context.Context, v *corev1.PersistentVolume) error {
	path := v.Spec.Local.Path
	err := t.holds(path)
	if err == nil {
		err = errors.Join(removeTree(ctx, unfinished(path)), removeTree(ctx, path))
	}
	if err != nil {
		return fmt.Errorf("remove the files of persistentvolume %q: %w", v.Name, err)
	}
	return nil
}
