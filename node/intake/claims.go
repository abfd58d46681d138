package intake

import "nodal/node"

// claimed refuses a pod whose resource claims cannot be read.
func claimed(d Delivery) []node.Violation {
	if _, err := node.ClaimsIn(d.Pod); err != nil {
		return broken("metadata.annotations["+node.AnnotationClaims+"]", err.Error())
	}
	return nil
}
