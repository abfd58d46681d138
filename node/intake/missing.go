package intake

import (
	"fmt"
	"time"

	"nodal/node"
)

// ClaimsStay is the time for which a claim stays that its source no longer has. With the claim go the files of its volume,
// while a file that brings it may be away for a moment only: when files are exchanged, or before a disk is mounted.
const ClaimsStay = 10 * time.Minute

// Missing keeps since when a source no longer has claims. The next agent counts from its own start. It is for one
// goroutine; nil lets a claim go at once.
type Missing struct{ since map[node.ObjectRef]time.Time }

// found forgets what is there again.
func (m *Missing) found(delivered map[place]bool) {
	if m == nil {
		return
	}
	for ref := range m.since {
		if delivered[place{ref: ref}] {
			delete(m.since, ref)
		}
	}
}

// stays returns nil if an object that is missing may go now, and else says when.
func (m *Missing) stays(ref node.ObjectRef, now time.Time) error {
	if m == nil || ref.Kind != node.PersistentVolumeClaim {
		return nil
	}
	since, known := m.since[ref]
	if !known {
		since = now
		if m.since == nil {
			m.since = map[node.ObjectRef]time.Time{}
		}
		m.since[ref] = now
	}
	if now.Sub(since) >= ClaimsStay {
		delete(m.since, ref)
		return nil
	}
	return fmt.Errorf("%s is not in it any more, and goes with its data at %s unless it is back: %w",
		ref, since.Add(ClaimsStay).UTC().Format(time.RFC3339), node.ErrConflict)
}
