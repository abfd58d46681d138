package agent

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

func TestVolumesOfDriversAreThoseOfPodsAndThoseThatAreLeft(t *testing.T) {
	used, left := node.CSIVolume{Driver: "disk", Handle: "used"}, node.CSIVolume{Driver: "disk", Handle: "left"}
	for _, c := range []struct {
		name  string
		phase corev1.PodPhase // of the pod, if it is final
		held  []node.CSIVolume
		want  []node.CSIVolume
	}{
		{"a pod that runs, before it has its volume", "", nil, []node.CSIVolume{used}},
		{"and then", "", []node.CSIVolume{used, left}, []node.CSIVolume{left, used}},
		{"a pod that has finished, whose volume is still staged", corev1.PodSucceeded, []node.CSIVolume{used}, []node.CSIVolume{used}},
		{"and then", corev1.PodSucceeded, nil, nil},
	} {
		s := emptyStore(t)
		claim := &corev1.PersistentVolumeClaim{}
		claim.Kind, claim.Namespace, claim.Name, claim.Spec.VolumeName, claim.Status.Phase = "PersistentVolumeClaim", "default", "data", "pv", corev1.ClaimBound
		volume := &corev1.PersistentVolume{}
		volume.Kind, volume.Name = "PersistentVolume", "pv"
		volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: used.Driver, VolumeHandle: used.Handle}
		object := &corev1.Pod{Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
			}}},
			Containers: []corev1.Container{{Name: "main", Image: "app", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}}},
		}}
		object.Namespace, object.Name, object.UID = "default", "web", types.UID("u1")
		slot := &node.Slot{Pod: &node.Pod{Object: object}}
		if c.phase != "" {
			slot.Result = &corev1.PodStatus{Phase: c.phase}
		}
		if _, err := s.Transact(func(tx *store.Tx) error {
			tx.PutObject(node.NewObject(claim))
			tx.PutObject(node.NewObject(volume))
			tx.Put(node.KeyOf(object), slot)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got := csiVolumes(s, func() []node.CSIVolume { return c.held })(); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
