package manifest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// ephemeralContainer checks a container that is added to a running pod: nothing may
// lean on it, and it takes nothing that was set aside for the pod.
func (c *check) ephemeralContainer(e *corev1.EphemeralContainer, at *field.Path, names map[string]bool) {
	container := (*corev1.Container)(&e.EphemeralContainerCommon)
	if target := e.TargetContainerName; target != "" && !hasContainer(&c.pod.Spec, target) {
		c.errs = append(c.errs, field.NotFound(at.Child("targetContainerName"), clip(target)))
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

// CheckAdded says what keeps a pod from going on with the ephemeral containers of
// another manifest of it: one that was added stays as it is. With none of its own the
// manifest leaves them as they are.
func CheckAdded(old, new *corev1.Pod) []node.Violation {
	list := field.NewPath("spec", "ephemeralContainers")
	if len(new.Spec.EphemeralContainers) == 0 {
		return nil
	}
	var violations []node.Violation
	for i := range old.Spec.EphemeralContainers {
		was := &old.Spec.EphemeralContainers[i]
		switch is := node.EphemeralContainer(&new.Spec, was.Name); {
		case is == nil:
			violations = append(violations, node.Violation{Field: list.String(), Rule: fmt.Sprintf("Forbidden: existing ephemeral container %q may not be removed", was.Name)})
		case !equality.Semantic.DeepEqual(was, is):
			violations = append(violations, node.Violation{Field: list.String(), Rule: fmt.Sprintf("Forbidden: existing ephemeral container %q may not be changed", was.Name)})
		}
	}
	return violations
}
