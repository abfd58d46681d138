package decide

import (
	"time"

	"nodal/node"
)

// Asset is all that the plan for an asset of the node depends on. W is what is wanted of it, and L what a look shows.
type Asset[W, L any] struct {
	Want   W
	Users  []node.Key // pods that use it or wait for it
	Sure   bool       // every pod source has delivered; before that, a pod may use it that is not known yet
	Look   L          // the last one; before that the zero value
	Faults map[string]node.Fault
	Now    time.Time
}

// try adds an action, unless its target has failed and rests until a retry.
func (in Asset[W, L]) try(p *Plan, a node.Action) { p.attempt(in.Faults, in.Now, a) }
