package manifest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// CheckAdded validates a change of the ephemeral containers: they can only be added. A manifest
// without any leaves them as they are.
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
