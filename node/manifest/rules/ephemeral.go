package rules

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// ephemeralContainer checks a container that is added to a running pod: nothing may
// lean on it, and it takes nothing that was set aside for the pod.
func (c containerCheck) ephemeralContainer(e *corev1.EphemeralContainer, at *field.Path, names map[string]bool) {
	container := (*corev1.Container)(&e.EphemeralContainerCommon)
	if target := e.TargetContainerName; target != "" && !hasContainer(&c.pod.Spec, target) {
		c.errs = append(c.errs, field.NotFound(at.Child("targetContainerName"), Clip(target)))
	}
	c.container(container, at, names)
	for _, m := range []member{
		{"ports", len(container.Ports) > 0},
		{"resources", !equality.Semantic.DeepEqual(container.Resources, corev1.ResourceRequirements{})},
		{"resizePolicy", len(container.ResizePolicy) > 0},
		{"restartPolicy", container.RestartPolicy != nil},
		{"restartPolicyRules", len(container.RestartPolicyRules) > 0},
		{"lifecycle", container.Lifecycle != nil},
		{"livenessProbe", container.LivenessProbe != nil},
		{"readinessProbe", container.ReadinessProbe != nil},
		{"startupProbe", container.StartupProbe != nil},
	} {
		if m.given {
			c.refused(at.Child(m.name), "may not be set for ephemeral containers")
		}
	}
	for i, mount := range container.VolumeMounts {
		in := at.Child("volumeMounts").Index(i)
		if mount.SubPath != "" {
			c.refused(in.Child("subPath"), "may not be set for ephemeral containers")
		}
		if mount.SubPathExpr != "" {
			c.refused(in.Child("subPathExpr"), "may not be set for ephemeral containers")
		}
	}
}

func hasContainer(spec *corev1.PodSpec, name string) bool {
	for c := range node.Containers(spec) {
		if c.Name == name {
			return true
		}
	}
	return false
}
