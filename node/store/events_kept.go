package store

import (
	"encoding/json"
	"fmt"
	"time"

	"nodal/node"
)

// KeptEvents are the events that outlive a process.
type KeptEvents struct {
	Events    []node.Event // by revision
	Compacted int64        // what happened up to here is incomplete
	// Whole means that the process has ended in order. Otherwise its last events may be missing.
	Whole bool
}

// Restore takes over the events of an earlier process, before any other event is added. A watch can resume in the middle
// of them if they are whole: otherwise it has to list again, as it may have seen some that were not kept.
func (r *Events) Restore(kept KeptEvents, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ceiling, last := r.clock.Now(), int64(0)
	r.compacted = kept.Compacted
	for _, e := range kept.Events {
		if e.Revision > ceiling || e.Revision <= last { // the record of the clock was lost once
			e.Revision, kept.Whole = r.clock.Next(), false
		}
		last = e.Revision
		// A warning that has repeated was kept each time.
		if i := r.lately(func(old *node.Event) bool {
			return e.Count > old.Count && old.First.Equal(e.First) && old.Same(&e)
		}); i >= 0 {
			r.cut(i)
		}
		r.put(e)
		r.ended = e.Time
	}
	r.began, r.opened = r.clock.Now(), now
	if !kept.Whole {
		r.compacted = r.began
	}
}

// Began returns the revision after which the events are of this process.
func (r *Events) Began() int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.began
}

// Missed reports whether something that happened at a time may have no event: there was no agent then, or it was ended
// before it kept the event.
func (r *Events) Missed(at time.Time) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return !r.ended.IsZero() && at.After(r.ended) && at.Before(r.opened)
}

// Kept returns all events, as the next process shall restore them if this one ends now.
func (r *Events) Kept() (KeptEvents, int64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return KeptEvents{Events: append([]node.Event(nil), r.all...), Compacted: r.compacted, Whole: true}, r.clock.Now()
}

// eventRecord is one record of the file of events: an event, or a mark behind those that it is about.
type eventRecord struct {
	Version int         `json:"Version"`
	Event   *node.Event `json:"Event,omitempty"`
	Mark    *eventMark  `json:"Mark,omitempty"`
}

// eventMark says how complete the events before it are.
type eventMark struct {
	Compacted int64 `json:"Compacted"`
	Whole     bool  `json:"Whole,omitempty"` // up to here, so that it counts only at the end
}

// EncodeEvent returns the record of an event.
func EncodeEvent(e *node.Event) ([]byte, error) { return encode(eventRecord{Event: e}) }

// EncodeMark returns the record of how complete the events before it are.
func EncodeMark(compacted int64, whole bool) ([]byte, error) {
	return encode(eventRecord{Mark: &eventMark{compacted, whole}})
}

func encode(r eventRecord) ([]byte, error) {
	r.Version = Version
	record, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode an event: %w", err)
	}
	return record, nil
}

// Add takes the next record of the file of events. One of a newer agent is left out: it may say something else.
func (k *KeptEvents) Add(record []byte) error {
	var r eventRecord
	if err := json.Unmarshal(record, &r); err != nil {
		k.Whole = false
		return fmt.Errorf("decode an event: %w", err)
	}
	if k.Whole = r.Mark != nil && r.Mark.Whole; r.Version > Version {
		return nil
	}
	if r.Mark != nil {
		k.Compacted = r.Mark.Compacted
	}
	if r.Event != nil {
		k.Events = append(k.Events, *r.Event)
	}
	return nil
}
