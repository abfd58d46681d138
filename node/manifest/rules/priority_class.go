package rules

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Priorities above highestPriority, and names that begin so, are Kubernetes' own.
const (
	highestPriority = 1_000_000_000
	systemPrefix    = "system-"
)

// PriorityClass returns the rules that a defaulted PriorityClass breaks. The classes of the system are always there.
func PriorityClass(class *schedulingv1.PriorityClass) field.ErrorList {
	c := &check{errs: metaOf(&class.ObjectMeta, false)}
	switch {
	case strings.HasPrefix(class.Name, systemPrefix):
		c.refused(field.NewPath("metadata", "name"), "begins with "+systemPrefix+", as the system's own classes do; choose another name")
	case class.Value > highestPriority:
		c.refused(field.NewPath("value"), "may not be above 1000000000: higher priorities are the system's own")
	}
	optionalOneOf(c, field.NewPath("preemptionPolicy"), class.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)
	return c.errs
}
