package intake

import (
	"errors"

	"nodal/node/capability"
)

// Review returns what keeps a delivery from being taken whatever else there is on the node.
func (in Intake) Review(d Delivery) error {
	refused := in.unallowed(d)
	if d.Object == nil {
		_, more := capability.Check(d.Pod)
		return refusedBy(d, append(more, refused...))
	}
	if d.Object.Template() != nil {
		_, more := capability.Check(sample(d.Object))
		refused = append(inTemplate(d.Object.Kind, more), refused...)
	}
	return errors.Join(in.permittedPlace(d), in.permittedRevision(d), in.permittedPolicy(d), refusedBy(d, refused))
}
