package intake

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"nodal/node"
)

const managedFields = "metadata.managedFields"

// managed returns a delivery with the managed fields of the present pod if it brings none. It reports whether it brings
// others. They are kept for clients that apply: the node itself makes no use of them.
func managed(d Delivery, current *node.Pod) (Delivery, bool) {
	was := current.Object.ManagedFields
	if d.Pod.ManagedFields == nil {
		object := *d.Pod
		object.ManagedFields = was
		d.Pod = &object
	}
	return d, !apiequality.Semantic.DeepEqual(was, d.Pod.ManagedFields)
}
