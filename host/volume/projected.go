package volume

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

func (t *Tree) setUpProjected(_ context.Context, at place) error {
	return t.write(at, at.volume.Projected, true)
}

// A configMap, a secret and a downwardAPI volume are each a projection alone.

func (t *Tree) setUpConfigMap(_ context.Context, at place) error {
	v := at.volume.ConfigMap
	return t.write(at, alone(v.DefaultMode, v.DefaultUser, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
		LocalObjectReference: v.LocalObjectReference, Items: v.Items, Optional: v.Optional,
	}}), false)
}

func (t *Tree) setUpSecret(_ context.Context, at place) error {
	v := at.volume.Secret
	return t.write(at, alone(v.DefaultMode, v.DefaultUser, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: v.SecretName}, Items: v.Items, Optional: v.Optional,
	}}), true)
}

func (t *Tree) setUpDownwardAPI(_ context.Context, at place) error {
	v := at.volume.DownwardAPI
	return t.write(at, alone(v.DefaultMode, v.DefaultUser, corev1.VolumeProjection{
		DownwardAPI: &corev1.DownwardAPIProjection{Items: v.Items},
	}), true)
}

func alone(mode *int32, user *int64, source corev1.VolumeProjection) *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{DefaultMode: mode, DefaultUser: user, Sources: []corev1.VolumeProjection{source}}
}

// write lays out the files of projections, in memory where upstream's kubelet has them: it would hide a directory on the
// disk from then on, and containers would see no change. It makes nothing before it has all files, and secrets never
// touch a disk.
func (t *Tree) write(at place, v *corev1.ProjectedVolumeSource, memory bool) error {
	files, err := t.content(at.pod, v)
	if err != nil {
		return err
	}
	secret := slices.ContainsFunc(v.Sources, func(s corev1.VolumeProjection) bool { return s.Secret != nil })
	if secret || memory && !isLaid(at.dir) {
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

// isLaid reports whether files were laid out in a directory. One on the disk is an earlier version's, and stays: containers
// have it mounted.
func isLaid(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, dataLink))
	return err == nil
}
