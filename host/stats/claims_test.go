package stats

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestClaimsAreMeasuredAlone(t *testing.T) {
	c, disk := diskCollector(t)
	defer c.tree.forget()
	if found, err := c.Claims(t.Context()); len(found) != 0 || err != nil || disk.walks.Load() != 0 {
		t.Errorf("got %+v, %v, where no pod has a claim", found, err)
	}
	views, _ := c.config.Views()
	views[0].Slot.Pod.Object.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "mine"},
	}}}
	found, err := c.Claims(t.Context())
	if err != nil || len(found) != 1 || found[0].PVCRef.Name != "mine" || *found[0].CapacityBytes == 0 || disk.walks.Load() != 0 {
		t.Errorf("got %+v, %v after %d walks, want what the file system of one claim says", found, err, disk.walks.Load())
	}
	if whole := asked(t, c).Pods[0]; len(whole.VolumeStats) != 3 {
		t.Errorf("a summary has %d volumes beside, want 3", len(whole.VolumeStats))
	}
}
