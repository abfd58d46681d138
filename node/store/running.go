package store

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Running holds, by name, the pods that run, wanted or not, and since when.
type Running map[node.Key]map[types.UID]time.Time

// Saw takes what the last full look at the runtime has shown to run. It is the reconciler's alone. No revision follows
// from it: readers see a pod once it has a record.
func (s *Store) Saw(running Running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = running
}

// Ran reports whether a pod ran under a name at the last full look, and since when.
func (s *Store) Ran(key node.Key, uid types.UID) (since time.Time, ran bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	since, ran = s.running[key][uid]
	return since, ran
}

// Runs reports whether a pod ran at the last full look, under any name.
func (s *Store) Runs(uid types.UID) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, uids := range s.running {
		if _, runs := uids[uid]; runs {
			return true
		}
	}
	return false
}
