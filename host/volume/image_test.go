package volume

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAnImageThatIsAVolumeIsMountedByItsID(t *testing.T) {
	b := newBench(t)
	p := pod(corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "data"}})
	mounts, err := b.Mounts(p, &p.Object.Spec.Containers[0], map[string]string{"v": "sha256:1"})
	if err != nil {
		t.Fatal(err)
	}
	if m := mounts[0]; m.Image.GetImage() != "sha256:1" || m.Image.GetUserSpecifiedImage() != "data" || !m.Readonly || m.HostPath != "" {
		t.Errorf("got %v, want the image by its id, and read-only", m)
	}
}
