package manifest

import (
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

const runtimeClassVersion = "node.k8s.io/v1"

// runtimeClass decodes and validates one RuntimeClass. Where its pods may be scheduled
// is nothing to a node that runs them.
func (b *bundle) runtimeClass(at place, object []byte) {
	class := new(nodev1.RuntimeClass)
	if !b.strict(at, object, class) {
		return
	}
	class.TypeMeta = metav1.TypeMeta{APIVersion: runtimeClassVersion, Kind: string(node.RuntimeClass)}
	class.ObjectMeta = authoredMeta(&class.ObjectMeta)
	class.Namespace = ""
	c := &check{errs: metaOf(&class.ObjectMeta, false)}
	c.name(field.NewPath("handler"), class.Handler, validation.IsDNS1123Label)
	if class.Overhead != nil {
		roundUp(class.Overhead.PodFixed)
		c.quantities(class.Overhead.PodFixed, field.NewPath("overhead", "podFixed"), containerResource)
	}
	b.takeObject(at, &node.Object{Class: class}, c.errs)
}
