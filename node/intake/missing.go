package intake

import (
	"fmt"
	"time"

	"nodal/node"
)

// ClaimsStay is the time for which a claim or a volume stays that its source no longer has. With the claim go the files of
// its volume, and a volume that begins to go never comes back, while a file that brings them may be away for a moment only:
// when files are exchanged, or before a disk is mounted.
const ClaimsStay = 10 * time.Minute

// Missing keeps since when a source no longer has claims and volumes. The next agent counts from its own start. It is for
// one goroutine; nil lets them go at once.
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

// Forget has all that is missing stay for the whole time again: while its source cannot be read whole, what cannot be read
// may hold it.
func (m *Missing) Forget() {
	if m != nil {
		clear(m.since)
	}
}

// stays returns nil if an object that is missing from its source, which was read whole or not, may go now, and else says
// when.
func (m *Missing) stays(ref node.ObjectRef, whole bool, now time.Time) error {
	if m == nil || !ofStorage(ref) {
		return nil
	}
	if !whole {
		return fmt.Errorf("%s is not in it any more, and stays while something else of the source cannot be read, as that may hold it: %w",
			ref, node.ErrConflict)
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
	goes := "goes"
	if ref.Kind == node.PersistentVolumeClaim {
		goes = "goes with its data"
	}
	return fmt.Errorf("%s is not in it any more, and %s at %s unless it is back: %w",
		ref, goes, since.Add(ClaimsStay).UTC().Format(time.RFC3339), node.ErrConflict)
}
