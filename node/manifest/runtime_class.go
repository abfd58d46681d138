package manifest

import (
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkRuntimeClass validates one RuntimeClass. Where its pods may be scheduled is
// nothing to a node that runs them.
func checkRuntimeClass(class *nodev1.RuntimeClass) field.ErrorList {
	c := &check{errs: metaOf(&class.ObjectMeta, false)}
	c.name(field.NewPath("handler"), class.Handler, validation.IsDNS1123Label)
	if class.Overhead != nil {
		roundUp(class.Overhead.PodFixed)
		c.quantities(class.Overhead.PodFixed, field.NewPath("overhead", "podFixed"), containerResource)
	}
	return c.errs
}
