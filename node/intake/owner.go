package intake

import (
	"fmt"

	"nodal/node"
)

// others refuses to change an object that another source has brought. What a source has left that is no longer
// configured may be changed by any other.
func (in Intake) others(old *node.Object) error {
	if old == nil || old.Locked != nil || old.Owner() == in.Source || !in.has(old.Owner()) {
		return nil
	}
	if old.Owner() == node.SourceAPI {
		return fmt.Errorf("%s was posted to the API; delete it there, or take it out of this manifest: %w", old.Ref(), node.ErrConflict)
	}
	return fmt.Errorf("%s belongs to source %s; change or remove it in %s: %w", old.Ref(), old.Owner(), old.Origin, node.ErrConflict)
}

// mark writes into an object where it comes from.
func (in Intake) mark(object *node.Object, d Delivery) *node.Object {
	object.Source, object.Origin = "", ""
	if in.Source != node.SourceAPI {
		object.Source, object.Origin = in.Source, d.Origin
	}
	return object
}

// permittedPlace refuses objects of files and URLs on a node of a cluster: the cluster has the objects that its nodes use.
func (in Intake) permittedPlace(d Delivery) error {
	if _, joined := in.Sources[node.SourceCluster]; !joined || in.Source == node.SourceAPI {
		return nil
	}
	return invalid(d, "kind", fmt.Sprintf("is %s, but a node of a cluster takes pods alone from files and URLs; make it in the cluster",
		d.Object.Kind))
}
