package rules

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// RuntimeClass returns the rules that a defaulted RuntimeClass breaks.
func RuntimeClass(class *nodev1.RuntimeClass) field.ErrorList {
	c := &check{errs: metaOf(&class.ObjectMeta, false)}
	c.name(field.NewPath("handler"), class.Handler, validation.IsDNS1123Label)
	if class.Overhead != nil {
		amountCheck{c}.quantities(class.Overhead.PodFixed, field.NewPath("overhead", "podFixed"), containerResource)
	}
	if s := class.Scheduling; s != nil {
		in := field.NewPath("scheduling")
		c.errs = append(c.errs, metav1validation.ValidateLabels(s.NodeSelector, in.Child("nodeSelector"))...)
		placement := placementCheck{c}
		placement.tolerations(s.Tolerations, in.Child("tolerations"))
		placement.tolerationsOnce(s.Tolerations, in.Child("tolerations"))
	}
	return c.errs
}

// tolerationsOnce reports a toleration of a class that is there twice.
func (c placementCheck) tolerationsOnce(tolerations []corev1.Toleration, at *field.Path) {
	for i, t := range tolerations {
		for _, before := range tolerations[:i] {
			if equality.Semantic.DeepEqual(t, before) {
				c.duplicate(at.Index(i), t.Key)
				break
			}
		}
	}
}
