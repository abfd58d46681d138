package node

import "time"

// Cordon says why the node takes no new pods of its API. The zero value means that it does.
type Cordon struct {
	Since  time.Time // zero while the node takes pods
	Reason string    // what the admin gave; it may be empty
}

// Closed reports whether the node takes no new pods.
func (c Cordon) Closed() bool { return !c.Since.IsZero() }

// Kubernetes' words for a node that is cordoned, or takes pods again.
const (
	NotSchedulable = "NodeNotSchedulable"
	Schedulable    = "NodeSchedulable"
)
