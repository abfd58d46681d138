package volume

import (
	"context"
	"slices"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

func (t *Tree) setUpProjected(_ context.Context, at place) error {
	return t.write(at, at.volume.Projected)
}

// write lays out what projections hold. Nothing is made before all of it is there,
// and what is secret never touches a disk.
func (t *Tree) write(at place, v *corev1.ProjectedVolumeSource) error {
	files, err := t.content(at.pod, v)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(v.Sources, func(s corev1.VolumeProjection) bool { return s.Secret != nil }) {
		err = mountTmpfs(at.dir, "", unix.MS_NOSUID|unix.MS_NODEV)
	} else {
		err = makeDir(at.dir)
	}
	if err != nil {
		return err
	}
	if err := at.setMode(0o755, groupEnters); err != nil {
		return err
	}
	return files.shared(at.pod).write(at.dir, mountPoints(at.pod, at.volume.Name))
}
