package reconciler

import (
	"nodal/node/assign"
	"nodal/node/store"
)

// Follow takes other rules for the CPUs of the machine. The next turn brings the pods up to the CPUs that they share.
func (l *Loop) Follow(rules *assign.Rules) {
	if l.Pool != nil && rules != nil {
		l.Pool.Follow(rules)
	}
}

// share gives all pods a turn when the shared CPUs have changed: a pod got or gave back CPUs of its own, or the machine
// has others.
func (l *Loop) share(views []store.View) {
	if l.Pool == nil || !l.Pool.Take(views) {
		return
	}
	l.Site.Shared = l.Pool.CPUs()
	for key := range l.tracks {
		l.dirty[key] = true
	}
}
