package csi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// Look shows what is there of a volume on the node.
func (v *Volumes) Look(_ context.Context, id node.CSIVolume) (node.Staged, error) {
	dir := v.stageDir(id)
	there, ready, err := marked(dir)
	if err != nil || !ready {
		return node.Staged{There: there}, err
	}
	mine := v.mine(id)
	if !mine {
		mine, err = mounted(filepath.Join(dir, stagedAt))
	}
	return node.Staged{There: true, Whole: mine}, err
}

// Stage has the driver make a volume ready. It leaves one that is.
func (v *Volumes) Stage(ctx context.Context, pv *corev1.PersistentVolume, group *int64) error {
	id, _ := node.CSIVolumeOf(pv)
	known := v.hold(id)
	defer known.release()
	known.begin()
	got, err := v.Look(ctx, id)
	if err == nil && !got.Whole {
		err = v.stage(ctx, pv, group)
	}
	if err != nil {
		err = &node.Failure{
			Reason: node.FailedMount, // with Kubernetes' own sentence
			Err:    fmt.Errorf("MountVolume.MountDevice failed for volume %q : %w", pv.Name, err),
		}
	}
	known.set(err == nil, err)
	return err
}

func (v *Volumes) stage(ctx context.Context, pv *corev1.PersistentVolume, group *int64) error {
	info, err := v.driver(pv.Spec.CSI.Driver)
	if err != nil {
		return fmt.Errorf("kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: %w", err)
	}
	attached, err := node.Attached(pv)
	if err != nil {
		return err
	}
	id, _ := node.CSIVolumeOf(pv)
	dir := v.stageDir(id)
	secrets, err := v.secrets(refOf(pv.Spec.CSI.NodeStageSecretRef))
	if err != nil {
		return err
	}
	if err := prepare(dir, tag{Driver: id.Driver, Handle: id.Handle}); err != nil {
		return err
	}
	at := filepath.Join(dir, stagedAt)
	if there, err := mounted(at); err != nil {
		return err
	} else if !there {
		if err := os.MkdirAll(at, 0o750); err != nil {
			return err
		}
	}
	err = v.call(ctx, info, "NodeStageVolume", func(ctx context.Context, c csiapi.NodeClient) error {
		_, err := c.NodeStageVolume(ctx, &csiapi.NodeStageVolumeRequest{
			VolumeId: id.Handle, StagingTargetPath: at, VolumeCapability: capability(pv, info.Driver, group),
			Secrets: secrets, VolumeContext: pv.Spec.CSI.VolumeAttributes, PublishContext: attached,
		})
		return err
	})
	if err != nil {
		return err
	}
	return mark(dir, whole)
}

// Unstage has the driver take a volume away. It refuses one that a pod still has, after a while: a pod that has finished
// gives its volumes back.
func (v *Volumes) Unstage(ctx context.Context, id node.CSIVolume) error {
	v.awaitFree(ctx, id)
	known := v.hold(id)
	defer known.release()
	if err := v.unstage(ctx, id, known); err != nil {
		return &node.Failure{Reason: node.FailedUnmount, Err: fmt.Errorf("UnmountDevice failed for volume %q : %w", id.Handle, err)}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.known, id)
	return nil
}

// awaitFree waits until no pod has a volume, but not for long.
func (v *Volumes) awaitFree(ctx context.Context, id node.CSIVolume) {
	ctx, cancel := context.WithTimeout(ctx, v.patience)
	defer cancel()
	for {
		news := v.of(id).told.Heard()
		if held, err := v.holders(id); len(held) == 0 || err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-news:
		}
	}
}

func (v *Volumes) unstage(ctx context.Context, id node.CSIVolume, known *volume) error {
	if held, err := v.holders(id); err != nil {
		return err
	} else if len(held) > 0 {
		return fmt.Errorf("a pod still has it, at %s", held[0])
	}
	dir := v.stageDir(id)
	at := filepath.Join(dir, stagedAt)
	if there, _, err := marked(dir); !there || err != nil {
		return err
	}
	info, err := v.driver(id.Driver)
	if err != nil {
		return err
	}
	known.set(false, nil)
	if err := mark(dir, 0); err != nil {
		return err
	}
	err = v.call(ctx, info, "NodeUnstageVolume", func(ctx context.Context, c csiapi.NodeClient) error {
		_, err := c.NodeUnstageVolume(ctx, &csiapi.NodeUnstageVolumeRequest{VolumeId: id.Handle, StagingTargetPath: at})
		return err
	})
	if err != nil {
		return err
	}
	return remove(dir, at)
}

// staged waits until a volume is staged, and returns the function that ends the lock which keeps it so.
func (v *Volumes) staged(ctx context.Context, id node.CSIVolume) (release func(), err error) {
	timer := time.NewTimer(stagePatience)
	defer timer.Stop()
	for {
		known := v.of(id)
		news, fault := known.told.Heard(), known.failed()
		if known.busy.TryRLock() {
			got, err := v.Look(ctx, id)
			if err == nil && got.Whole && v.of(id) == known {
				return known.busy.RUnlock, nil
			}
			known.busy.RUnlock()
			if err = errors.Join(err, fault); err != nil {
				return nil, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return nil, errNotStaged
		case <-news:
		}
	}
}
