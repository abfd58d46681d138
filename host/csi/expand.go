package csi

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// Has reports whether a pod has a volume.
func (v *Volumes) Has(_ context.Context, id node.CSIVolume) (bool, error) {
	path, err := v.pathOf(id)
	return path != "", err
}

// pathOf returns where a pod has a volume, or "" if none has it.
func (v *Volumes) pathOf(id node.CSIVolume) (string, error) {
	v.mu.Lock()
	var paths []string
	for path, of := range v.published {
		if of == id {
			paths = append(paths, path)
		}
	}
	v.mu.Unlock()
	slices.Sort(paths)
	for _, path := range paths {
		if done, err := published(filepath.Dir(path), path); done || err != nil {
			return path, err
		}
	}
	return "", nil
}

// Expand has the driver make the rest of a volume's capacity usable, where one of the pods has the volume. Meanwhile that pod
// cannot give it back.
func (v *Volumes) Expand(ctx context.Context, pv *corev1.PersistentVolume) error {
	id, _ := node.CSIVolumeOf(pv)
	path, err := v.pathOf(id)
	if err == nil && path == "" {
		err = fmt.Errorf("a pod that has it: %w", node.ErrNotFound)
	}
	if err == nil {
		err = v.expand(ctx, pv, path)
	}
	if err != nil {
		return &node.Failure{
			Reason: node.VolumeResizeFailed, // with Kubernetes' own sentence
			Err:    fmt.Errorf("NodeExpandVolume.NodeExpandVolume failed for volume %q : %w", pv.Name, err),
		}
	}
	return nil
}

func (v *Volumes) expand(ctx context.Context, pv *corev1.PersistentVolume, path string) error {
	release, err := v.paths.take(ctx, path)
	if err != nil {
		return err
	}
	defer release()
	if done, err := published(filepath.Dir(path), path); err != nil {
		return err
	} else if !done {
		return fmt.Errorf("the pod has given it back: %w", node.ErrNotFound)
	}
	info, err := v.driver(pv.Spec.CSI.Driver)
	if err != nil {
		return err
	}
	request := &csiapi.NodeExpandVolumeRequest{
		VolumeId: pv.Spec.CSI.VolumeHandle, VolumePath: path, VolumeCapability: capability(pv, info.Driver, nil),
		CapacityRange: &csiapi.CapacityRange{RequiredBytes: pv.Spec.Capacity.Storage().Value()},
	}
	if request.Secrets, err = v.secrets(refOf(pv.Spec.CSI.NodeExpandSecretRef)); err != nil {
		return err
	}
	if info.Driver.Can(node.StagesVolumes) {
		id, _ := node.CSIVolumeOf(pv)
		request.StagingTargetPath = filepath.Join(v.stageDir(id), stagedAt)
	}
	err = v.call(ctx, info, "NodeExpandVolume", func(ctx context.Context, c csiapi.NodeClient) error {
		_, err := c.NodeExpandVolume(ctx, request)
		return err
	})
	if err != nil {
		return fmt.Errorf("Expander.NodeExpand failed to expand the volume : %w", err)
	}
	return nil
}
