package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/storage"
)

// Publish has the driver mount a volume for a pod. It leaves one that the pod has, and else waits until the volume is
// staged.
func (v *Volumes) Publish(ctx context.Context, p node.Publication) error {
	release, err := v.paths.take(ctx, p.Path)
	if err != nil {
		return err
	}
	defer release()
	dir := filepath.Dir(p.Path)
	if done, err := published(dir, p.Path); done || err != nil {
		return err // also while the driver is away
	}
	id, _ := node.CSIVolumeOf(p.Volume)
	begin := func() error {
		v.note(p.Path, id)
		return prepare(dir, tag{id.Driver, id.Handle, p.Volume.Name, p.Lifecycle()})
	}
	if err := v.publish(ctx, p, begin); err != nil {
		return err
	}
	defer v.publications.ring()
	return mark(dir, whole)
}

// publish asks the driver. begin is called before, once all that the driver has to be told is known.
func (v *Volumes) publish(ctx context.Context, p node.Publication, begin func() error) error {
	source := p.Volume.Spec.CSI
	info, err := v.driver(source.Driver)
	if err != nil {
		return fmt.Errorf("kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: %w", err)
	}
	if err := node.CheckLifecycle(source.Driver, p.Terms, p.Lifecycle()); err != nil {
		return fmt.Errorf("kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: %w", err)
	}
	request, err := v.request(p, info.Driver)
	if err != nil {
		return err
	}
	if !p.Inline && info.Driver.Can(node.StagesVolumes) {
		id, _ := node.CSIVolumeOf(p.Volume)
		release, err := v.staged(ctx, id)
		if err != nil {
			return err
		}
		defer release()
		request.StagingTargetPath = filepath.Join(v.stageDir(id), stagedAt)
	}
	if err := begin(); err != nil {
		return err
	}
	err = v.call(ctx, info, "NodePublishVolume", func(ctx context.Context, c csiapi.NodeClient) error {
		_, err := c.NodePublishVolume(ctx, request)
		return err
	})
	if err == nil && !info.Driver.Can(node.MountsForGroup) {
		err = p.Hand(p.Path)
	}
	return err
}

// request returns what a driver has to be told to publish a volume.
func (v *Volumes) request(p node.Publication, driver *node.CSIDriver) (*csiapi.NodePublishVolumeRequest, error) {
	attached, err := node.Attached(p.Volume)
	if err != nil {
		return nil, err
	}
	request := &csiapi.NodePublishVolumeRequest{
		VolumeId: p.Volume.Spec.CSI.VolumeHandle, TargetPath: p.Path, Readonly: p.ReadOnly, VolumeContext: attributes(p),
		VolumeCapability: capability(p.Volume, driver, p.Group), PublishContext: attached,
	}
	if request.Secrets, err = v.secrets(refOf(p.Volume.Spec.CSI.NodePublishSecretRef)); err != nil {
		return nil, err
	}
	if err := v.addTokens(request, p); err != nil {
		return nil, fmt.Errorf("kubernetes.io/csi: mounter.SetUpAt failed to get service account token attributes: %w", err)
	}
	return request, nil
}

// attributes returns the attributes of a volume, with the facts of the pod if the driver wants them. Those come from the node
// alone: an attribute of their name would let the author of a volume pass for another pod.
func attributes(p node.Publication) map[string]string {
	all := map[string]string{}
	maps.Copy(all, p.Volume.Spec.CSI.VolumeAttributes)
	wanted := p.Terms != nil && p.Terms.PodInfoOnMount != nil && *p.Terms.PodInfoOnMount
	for name, fact := range map[string]string{
		"csi.storage.k8s.io/pod.name": p.Pod.Name, "csi.storage.k8s.io/pod.namespace": p.Pod.Namespace, "csi.storage.k8s.io/pod.uid": string(p.Pod.UID),
		"csi.storage.k8s.io/serviceAccount.name": p.Pod.Spec.ServiceAccountName, "csi.storage.k8s.io/ephemeral": strconv.FormatBool(p.Inline),
	} {
		delete(all, name)
		if wanted {
			all[name] = fact
		}
	}
	return all
}

// published reports whether a driver has mounted a volume, and said so.
func published(dir, at string) (bool, error) {
	if _, ready, err := marked(dir); !ready || err != nil {
		return false, err
	}
	if there, err := mounted(at); there || err != nil {
		return there, err
	}
	info, err := os.Lstat(at) // a device need not be mounted
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode()&(fs.ModeDevice|fs.ModeSymlink) != 0, err
}

// Unpublish has the driver take the volume of a directory from its pod.
func (v *Volumes) Unpublish(ctx context.Context, path string) error {
	release, err := v.paths.take(ctx, path)
	if err != nil {
		return err
	}
	defer release()
	dir := filepath.Dir(path)
	t, err := readTag(dir)
	if errors.Is(err, fs.ErrNotExist) {
		v.unnote(path)
		return nil // no driver was asked
	}
	if err != nil {
		return err
	}
	info, err := v.driver(t.Driver)
	if err != nil {
		return fmt.Errorf("kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client: %w", err)
	}
	if err := mark(dir, 0); err != nil {
		return err
	}
	err = v.call(ctx, info, "NodeUnpublishVolume", func(ctx context.Context, c csiapi.NodeClient) error {
		_, err := c.NodeUnpublishVolume(ctx, &csiapi.NodeUnpublishVolumeRequest{VolumeId: t.Handle, TargetPath: path})
		return err
	})
	if err != nil {
		return err
	}
	if err := remove(dir, path); err != nil {
		return err
	}
	v.unnote(path)
	v.of(t.volume()).told.Ring()
	return nil
}

// capability says how a volume is used.
func capability(pv *corev1.PersistentVolume, driver *node.CSIDriver, group *int64) *csiapi.VolumeCapability {
	mode := &csiapi.VolumeCapability_AccessMode{Mode: accessMode(pv, driver.Can(node.TellsWriters))}
	if storage.Block(pv.Spec.VolumeMode) {
		device := &csiapi.VolumeCapability_Block{Block: &csiapi.VolumeCapability_BlockVolume{}}
		return &csiapi.VolumeCapability{AccessType: device, AccessMode: mode}
	}
	mount := &csiapi.VolumeCapability_MountVolume{FsType: pv.Spec.CSI.FSType, MountFlags: pv.Spec.MountOptions}
	if group != nil && driver.Can(node.MountsForGroup) {
		mount.VolumeMountGroup = strconv.FormatInt(*group, 10)
	}
	return &csiapi.VolumeCapability{AccessType: &csiapi.VolumeCapability_Mount{Mount: mount}, AccessMode: mode}
}

// accessMode returns the first mode of a volume in the words of CSI.
func accessMode(pv *corev1.PersistentVolume, tellsWriters bool) csiapi.VolumeCapability_AccessMode_Mode {
	mode := corev1.ReadWriteOnce
	if len(pv.Spec.AccessModes) > 0 {
		mode = pv.Spec.AccessModes[0]
	}
	switch {
	case mode == corev1.ReadOnlyMany:
		return csiapi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
	case mode == corev1.ReadWriteMany:
		return csiapi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
	case tellsWriters && mode == corev1.ReadWriteOncePod:
		return csiapi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	case tellsWriters:
		return csiapi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER
	}
	return csiapi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
}

func refOf(ref *corev1.SecretReference) (namespace, name string) {
	if ref == nil {
		return "", ""
	}
	return ref.Namespace, ref.Name
}
