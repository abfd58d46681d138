package node

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Event is one thing that happened, on the node or to a pod.
type Event struct {
	Revision  int64
	Time      time.Time // of the last occurrence
	First     time.Time
	Count     int32 // occurrences; an event that is added with none counts as one
	Warning   bool
	Reason    string // one word: Pulled, Created, Started, BackOff, ...
	Message   string
	Key       Key // zero for events of the node or of a source
	UID       types.UID
	Container string
	Took      time.Duration // of the step that the event ends
}

// same says whether two events differ in nothing but their time.
func (e *Event) same(o *Event) bool {
	return e.Key == o.Key && e.UID == o.UID && e.Container == o.Container &&
		e.Reason == o.Reason && e.Message == o.Message && e.Warning == o.Warning
}

// Events keeps the latest events, node-wide and for each pod, so that one
// noisy pod does not push out another's story. Repeated warnings are counted,
// not kept.
type Events struct {
	clock *Clock

	mu        sync.RWMutex
	all       []Event // by revision
	perKey    map[Key]int
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
	return &Events{clock: clock, perKey: map[Key]int{}, compacted: clock.Now()}
}

// Add records an event at its time.
func (r *Events) Add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.First, e.Count = e.Time, max(1, e.Count)
	for i := len(r.all) - 1; e.Warning && i >= max(0, len(r.all)-repeatLookback); i-- {
		old := &r.all[i]
		if old.same(&e) && e.Time.Sub(old.Time) < repeatWindow {
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

func (r *Events) trim(key Key) {
	switch {
	case key != Key{} && r.perKey[key] > keptEventsPerPod:
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
func (r *Events) Since(revision int64, match func(*Event) bool) ([]Event, int64, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	now := r.clock.Now()
	if revision != 0 && revision < r.compacted || revision > now {
		return nil, 0, fmt.Errorf("events since revision %d are not kept, list again: %w", revision, ErrCompacted)
	}
	var found []Event
	for i := range r.all {
		if e := &r.all[i]; e.Revision > revision && match(e) {
			found = append(found, *e)
		}
	}
	return found, now, nil
}

// Changed returns a channel that is closed when the node's revision moves.
func (r *Events) Changed() <-chan struct{} { return r.clock.Changed() }
