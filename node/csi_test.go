package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAVolumeNeedsADriverOfItsMode(t *testing.T) {
	const lasting, inline = storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral
	lists := func(modes ...storagev1.VolumeLifecycleMode) *storagev1.CSIDriverSpec {
		return &storagev1.CSIDriverSpec{VolumeLifecycleModes: modes}
	}
	for _, c := range []struct {
		name  string
		terms *storagev1.CSIDriverSpec
		mode  storagev1.VolumeLifecycleMode
		want  string
	}{
		{"a claim, without an object", nil, lasting, ""},
		{"a pod's own, without an object", nil, inline, `volume mode "Ephemeral" not supported by driver disk (no CSIDriver object)`},
		{"a claim, as listed", lists(lasting, inline), lasting, ""},
		{"a pod's own, as listed", lists(lasting, inline), inline, ""},
		{"a claim of a driver for pods alone", lists(inline), lasting, `volume mode "Persistent" not supported by driver disk (only supports ["Ephemeral"])`},
		{"a pod's own of a driver for claims", lists(lasting), inline, `volume mode "Ephemeral" not supported by driver disk (only supports ["Persistent"])`},
	} {
		got := ""
		if err := CheckLifecycle("disk", c.terms, c.mode); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAnInlineVolumeHasTheHandleOfEveryKubelet(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u1"}}
	v := &corev1.Volume{Name: "data"}
	v.CSI = &corev1.CSIVolumeSource{Driver: "disk", ReadOnly: new(true), FSType: new("ext4"), NodePublishSecretRef: &corev1.LocalObjectReference{Name: "key"}}
	got := InlineVolume(pod, v)
	if s := got.Spec.CSI; s.VolumeHandle != "csi-394e2f1c7e9d97fca241351d1f3fe5e473d332141cbc3a61861a8e3a8a0caf84" || !s.ReadOnly || s.FSType != "ext4" ||
		*s.NodePublishSecretRef != (corev1.SecretReference{Namespace: "ns", Name: "key"}) {
		t.Errorf("got %+v", s)
	}
}
