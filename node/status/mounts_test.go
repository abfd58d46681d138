package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestHowVolumesAreMountedIsShown(t *testing.T) {
	c := &corev1.Container{VolumeMounts: []corev1.VolumeMount{
		{Name: "data", MountPath: "/data"}, {Name: "flat", MountPath: "/flat", ReadOnly: true}, {Name: "deep", MountPath: "/deep", ReadOnly: true},
	}}
	var s corev1.ContainerStatus
	setMounts(&s, c, &node.Container{})
	if s.VolumeMounts != nil {
		t.Errorf("of a run that nobody has looked at it shows %+v, want nothing", s.VolumeMounts)
	}
	setMounts(&s, c, &node.Container{Inspected: true, Mounts: &node.Mounts{Deep: []string{"/deep"}}})
	want := []struct {
		name string
		mode corev1.RecursiveReadOnlyMode // empty for a mount that may be written to
	}{{"data", ""}, {"flat", corev1.RecursiveReadOnlyDisabled}, {"deep", corev1.RecursiveReadOnlyEnabled}}
	for i, got := range s.VolumeMounts {
		mode := corev1.RecursiveReadOnlyMode("")
		if got.RecursiveReadOnly != nil {
			mode = *got.RecursiveReadOnly
		}
		if got.Name != want[i].name || got.MountPath != "/"+want[i].name || mode != want[i].mode || got.ReadOnly != (mode != "") {
			t.Errorf("got %+v with the mode %q, want %+v", got, mode, want[i])
		}
	}
	if len(s.VolumeMounts) != len(want) {
		t.Errorf("got %d mounts, want %d", len(s.VolumeMounts), len(want))
	}
}
