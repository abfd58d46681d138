package intake

import (
	"errors"

	"nodal/node"
	"nodal/node/capability"
)

// Review returns what keeps a delivery from being taken whatever else there is on the node.
func (in Intake) Review(d Delivery) error {
	if d.Object == nil {
		_, refused := capability.Check(d.Pod)
		return refusedBy(d, append(refused, in.Policy.Check(d.Pod, in.poster(d))...))
	}
	return errors.Join(in.permittedPlace(d), in.permittedPolicy(d), refusedBy(d, in.Policy.CheckObject(d.Object, in.poster(d))))
}

func refusedBy(d Delivery, violations []node.Violation) error {
	if len(violations) == 0 {
		return nil
	}
	return refusal(d, violations)
}
