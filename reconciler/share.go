package reconciler

import (
	"nodal/node/assign"
	"nodal/node/store"
)

// Follow has the CPUs of the machine handed out by other rules. The next turn tells the pods which they share.
func (l *Loop) Follow(rules *assign.Rules) {
	if l.Pool != nil && rules != nil {
		l.Pool.Follow(rules)
	}
}

// share tells all pods which CPUs are shared, when a pod got or gave back some of its own or the machine has others.
func (l *Loop) share(views []store.View) {
	if l.Pool == nil || !l.Pool.Take(views) {
		return
	}
	l.Site.Shared = l.Pool.CPUs()
	for key := range l.tracks {
		l.dirty[key] = true
	}
}
