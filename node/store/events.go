package store

import (
	"fmt"
	"sync"
	"time"

	"nodal/node"
)

// Events keeps the latest events, node-wide and for each pod, so that one
// noisy pod does not push out another's story. Repeated warnings are counted,
// not kept.
type Events struct {
	clock *Clock

	mu        sync.RWMutex
	all       []node.Event // by revision
	perKey    map[node.Key]int
	compacted int64
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
	for i := len(r.all) - 1; e.Warning && i >= max(0, len(r.all)-repeatLookback); i-- {
		old := &r.all[i]
		if old.Same(&e) && e.Time.Sub(old.Time) < repeatWindow {
			e.First, e.Count = old.First, old.Count+e.Count
			r.cut(i)
			break
		}
	}
	e.Revision = r.clock.Next()
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
