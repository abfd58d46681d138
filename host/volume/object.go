package volume

import (
	"context"
	corev1 "k8s.io/api/core/v1"
)

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
