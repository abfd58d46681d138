package decide

import (
	"time"

	"nodal/node"
)

// PublishedVolume has a volume published again in time. A look shows when it last was; the zero value means that its pod does
// not have it yet. A time to come is one of a clock that was set back.
func PublishedVolume(in Asset[node.PublishedVolume, time.Time]) (p Plan) {
	due := in.Look.Add(node.RepublishEvery)
	switch {
	case in.Look.IsZero():
	case in.Now.Before(due) && !in.Look.After(in.Now):
		p.Wake = due
	default:
		in.try(&p, node.RepublishVolume{Volume: in.Want})
	}
	return p
}
