package status

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestHowVolumesAreMountedIsShown(t *testing.T) {
	c := &corev1.Container{VolumeMounts: []corev1.VolumeMount{
		{Name: "data", MountPath: "/data"}, {Name: "flat", MountPath: "/flat", ReadOnly: true}, {Name: "deep", MountPath: "/deep", ReadOnly: true, RecursiveReadOnly: new(corev1.RecursiveReadOnlyIfPossible)},
	}}
	for name, test := range map[string]struct {
		run  *node.Container
		want string
	}{
		"before the first run":              {nil, "data - flat Disabled deep -"},
		"of a run that was not looked at":   {&node.Container{}, "data - flat Disabled deep -"},
		"of a run":                          {&node.Container{Inspected: true, Mounts: &node.Mounts{Deep: []string{"/deep"}}}, "data - flat Disabled deep Enabled"},
		"of a runtime that cannot do it":    {&node.Container{Inspected: true, Mounts: &node.Mounts{}}, "data - flat Disabled deep Disabled"},
		"of a run with a record without it": {&node.Container{Inspected: true}, "data - flat Disabled deep Disabled"},
	} {
		var s corev1.ContainerStatus
		setMounts(&s, c, test.run)
		var got []string
		for i, m := range s.VolumeMounts {
			mode := "-"
			if m.RecursiveReadOnly != nil {
				mode = string(*m.RecursiveReadOnly)
			}
			got = append(got, m.Name, mode)
			if m.MountPath != "/"+m.Name || m.ReadOnly != c.VolumeMounts[i].ReadOnly {
				t.Errorf("%s: got %+v, want it as the container has it", name, m)
			}
		}
		if shown := strings.Join(got, " "); shown != test.want {
			t.Errorf("%s: got %s, want %s", name, shown, test.want)
		}
	}
}
