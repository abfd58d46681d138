package volume

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestVolumesHaveTheNamesOfKubernetesPlugins(t *testing.T) {
	b := newBench(t)
	for want, source := range map[string]corev1.VolumeSource{
		"kubernetes.io/empty-dir": emptyDir(),
		"kubernetes.io/host-path": {HostPath: &corev1.HostPathVolumeSource{Path: "/"}},
		"kubernetes.io/image":     {Image: &corev1.ImageVolumeSource{}},
		"kubernetes.io/secret":    {Secret: &corev1.SecretVolumeSource{}},
		"":                        {PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "missing"}},
	} {
		if got := b.Plugin(pod(source).Object, "v"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	b.bound(local("/data"), false)
	claim := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}
	if got := b.Plugin(pod(claim).Object, "v"); got != "kubernetes.io/local-volume" {
		t.Errorf("a claim on a local volume got %q", got)
	}
}
