package intake

import (
	"fmt"

	"nodal/node"
)

// place names a pod, or an object that pods use.
type place struct {
	key node.Key
	ref node.ObjectRef // where it is no pod
}

func (p place) String() string {
	if p.ref != (node.ObjectRef{}) {
		return p.ref.String()
	}
	return "pod " + p.key.String()
}

func (d Delivery) place() place {
	if d.Object != nil {
		return place{ref: d.Object.Ref()}
	}
	return place{key: node.KeyOf(d.Pod)}
}

// unchanged fails if the object was created or changed after revision since. No other client
// changes an object within a transaction; a pod's status may change at any time.
func (in Intake) unchanged(since *int64, at place) error {
	if since == nil {
		return nil
	}
	if now := in.Store.Revision(); *since > now { // of another node, or before all was lost
		return fmt.Errorf("unchangedSince %d: the node is only at revision %d; read it again: %w", *since, now, node.ErrChanged)
	}
	if object, ok := in.Store.Object(at.ref); ok && object.Revision > *since {
		return fmt.Errorf("%s has changed at revision %d, after %d; read it again: %w", at.ref, object.Revision, *since, node.ErrChanged)
	}
	if view, ok := in.Store.View(at.key); ok && view.Revision > *since {
		return fmt.Errorf("pod %s has changed at revision %d, after %d; read it again: %w", at.key, view.Revision, *since, node.ErrChanged)
	}
	return nil
}
