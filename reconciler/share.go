package reconciler

import (
	"nodal/node/offer"
	"nodal/node/store"
)

// Follow takes another offer of the node. The next turn brings the pods up to the CPUs that they share, to the memory
// that stands in for a limit that is not set, and to the health of their devices.
func (l *Loop) Follow(o offer.Offer) {
	if o.Assign != nil {
		l.mind(o.Assign.Devices)
	}
	if l.Pool != nil && o.Assign != nil {
		l.Pool.Follow(o.Assign)
	}
	rules := &l.Site.Limits.Memory
	if rules.Allocatable != o.Memory && rules.Throttle > 0 {
		l.wakeAll()
	}
	rules.Allocatable = o.Memory
}

// share gives all pods a turn when the shared CPUs have changed: a pod got or gave back CPUs of its own, or the machine
// has others.
func (l *Loop) share(views []store.View) {
	if l.Pool == nil || !l.Pool.Take(views) {
		return
	}
	l.Site.Shared = l.Pool.CPUs()
	l.wakeAll()
}

// wakeAll gives all pods a turn.
func (l *Loop) wakeAll() {
	for key := range l.tracks {
		l.dirty[key] = true
	}
}
