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

// A configMap, a secret and a downwardAPI volume are each a projection alone.

func (t *Tree) setUpConfigMap(_ context.Context, at place) error {
	v := at.volume.ConfigMap
	return t.write(at, alone(v.DefaultMode, v.DefaultUser, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
		LocalObjectReference: v.LocalObjectReference, Items: v.Items, Optional: v.Optional,
	}}))
}

func (t *Tree) setUpSecret(_ context.Context, at place) error {
	v := at.volume.Secret
	return t.write(at, alone(v.DefaultMode, v.DefaultUser, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: v.SecretName}, Items: v.Items, Optional: v.Optional,
	}}))
}

func (t *Tree) setUpDownwardAPI(_ context.Context, at place) error {
	v := at.volume.DownwardAPI
	return t.write(at, alone(v.DefaultMode, v.DefaultUser, corev1.VolumeProjection{
		DownwardAPI: &corev1.DownwardAPIProjection{Items: v.Items},
	}))
}

func alone(mode *int32, user *int64, source corev1.VolumeProjection) *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{DefaultMode: mode, DefaultUser: user, Sources: []corev1.VolumeProjection{source}}
}

// write lays out the files of projections. It makes nothing before it has all of them, and secrets never touch a disk.
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
