package store

import (
	"fmt"
	"sync"
	"time"

	"nodal/node"
)

// Events keeps the latest events, node-wide and for each pod, so that one
// noisy pod does not push out another's story. Repeated warnings are counted,
// not kept. Those of earlier processes are among them, as far as they were kept (events_kept.go).
type Events struct {
	clock *Clock

	mu        sync.RWMutex
	all       []node.Event // by revision
	perKey    map[node.Key]int
	compacted int64

	began  int64     // the revision at which this process began
	ended  time.Time // of the last event that an earlier process kept; zero without one
	opened time.Time // when this process took them over
}

const (
	keptEvents       = 4096
	keptEventsPerPod = 128
	repeatWindow     = 10 * time.Minute
	repeatLookback   = 64
)

// NewEvents makes an empty record of events.
func NewEvents(clock *Clock) *Events {
	return &Events{clock: clock, perKey: map[node.Key]int{}, compacted: clock.Now()}
}

// Add records an event at its time.
func (r *Events) Add(e node.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.First, e.Count = e.Time, max(1, e.Count)
	if i := r.lately(func(old *node.Event) bool { return e.Warning && old.Same(&e) && e.Time.Sub(old.Time) < repeatWindow }); i >= 0 {
		e.First, e.Count = r.all[i].First, r.all[i].Count+e.Count
		r.cut(i)
	}
	e.Revision = r.clock.Next()
	r.put(e)
}

// lately returns the place of the latest event that matches, if it is one of the last few, or else -1.
func (r *Events) lately(match func(*node.Event) bool) int {
	for i := len(r.all) - 1; i >= max(0, len(r.all)-repeatLookback); i-- {
		if match(&r.all[i]) {
			return i
		}
	}
	return -1
}

func (r *Events) put(e node.Event) {
	r.all = append(r.all, e)
	r.perKey[e.Key]++
	r.trim(e.Key)
}

func (r *Events) trim(key node.Key) {
	switch {
	case key != node.Key{} && r.perKey[key] > keptEventsPerPod:
		for i := range r.all {
			if r.all[i].Key == key {
				r.compacted = max(r.compacted, r.all[i].Revision)
				r.cut(i)
				return
			}
		}
	case len(r.all) > keptEvents:
		r.compacted = max(r.compacted, r.all[0].Revision)
		r.cut(0)
	}
}

func (r *Events) cut(i int) {
	key := r.all[i].Key
	if r.perKey[key]--; r.perKey[key] == 0 {
		delete(r.perKey, key)
	}
	r.all = append(r.all[:i], r.all[i+1:]...)
}

// Since returns the kept events after a revision, oldest first. Zero asks for
// all that are kept.
func (r *Events) Since(revision int64, match func(*node.Event) bool) ([]node.Event, int64, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	now := r.clock.Now()
	if revision != 0 && revision < r.compacted || revision > now {
		return nil, 0, fmt.Errorf("events since revision %d are not kept, list again: %w", revision, node.ErrCompacted)
	}
	var found []node.Event
	for i := range r.all {
		if e := &r.all[i]; e.Revision > revision && match(e) {
			found = append(found, *e)
		}
	}
	return found, now, nil
}

// Changed returns a channel that is closed when the node's revision moves.
func (r *Events) Changed() <-chan struct{} { return r.clock.Changed() }
