package csi

import (
	"context"
	"fmt"
	"path/filepath"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	storagev1 "k8s.io/api/storage/v1"

	"nodal/node"
)

// Use asks the driver of the volume that is published at a path how full it is. It returns ErrUnsupported for a driver
// that does not say.
func (v *Volumes) Use(ctx context.Context, path string) (use node.VolumeUse, err error) {
	t, err := readTag(filepath.Dir(path))
	if err != nil {
		return use, err
	}
	info, err := v.driver(t.Driver)
	if err != nil {
		return use, err
	}
	if !info.Driver.Can(node.TellsUse) {
		return use, fmt.Errorf("driver %s does not say how full its volumes are: %w", t.Driver, node.ErrUnsupported)
	}
	request := &csiapi.NodeGetVolumeStatsRequest{VolumeId: t.Handle, VolumePath: path}
	if t.Lifecycle != storagev1.VolumeLifecycleEphemeral && info.Driver.Can(node.StagesVolumes) {
		request.StagingTargetPath = filepath.Join(v.stageDir(t.volume()), stagedAt)
	}
	err = v.call(ctx, info, "NodeGetVolumeStats", func(ctx context.Context, c csiapi.NodeClient) error {
		answer, err := c.NodeGetVolumeStats(ctx, request)
		if err == nil {
			use = useOf(answer)
		}
		return err
	})
	return use, err
}

// useOf reads an answer. Figures below zero, which CSI does not allow, are left out.
func useOf(answer *csiapi.NodeGetVolumeStatsResponse) (use node.VolumeUse) {
	for _, u := range answer.GetUsage() {
		switch u.GetUnit() {
		case csiapi.VolumeUsage_BYTES:
			use.Capacity, use.Available, use.Used = figure(u.GetTotal()), figure(u.GetAvailable()), figure(u.GetUsed())
		case csiapi.VolumeUsage_INODES:
			use.Inodes, use.InodesFree, use.InodesUsed = figure(u.GetTotal()), figure(u.GetAvailable()), figure(u.GetUsed())
		}
	}
	return use
}

func figure(n int64) *uint64 {
	if n < 0 {
		return nil
	}
	f := uint64(n)
	return &f
}
