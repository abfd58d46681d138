package store

import (
	"container/list"
	"fmt"
	"iter"
	"slices"

	"nodal/node"
)

// history answers what has changed after a revision. It holds the latest state of each key, in the
// order of changes, and the most recent deletions.
type history[K comparable, V any] struct {
	present   map[K]*list.Element // of *change
	order     *list.List          // of *change, by revision
	gone      int                 // deletions in order
	compacted int64               // what happened up to here is incomplete
}

// change is the latest state of a key, or the last that it had.
type change[K comparable, V any] struct {
	key      K
	value    V
	revision int64
	gone     bool
}

func newHistory[K comparable, V any](since int64) *history[K, V] {
	return &history[K, V]{present: map[K]*list.Element{}, order: list.New(), compacted: since}
}

// put records the state of a key at a revision, or that the key is gone.
func (h *history[K, V]) put(c change[K, V]) {
	if e, ok := h.present[c.key]; ok {
		h.order.Remove(e)
		delete(h.present, c.key)
	}
	e := h.order.PushBack(&c)
	if !c.gone {
		h.present[c.key] = e
	} else if h.gone++; h.gone > keptTombstone {
		h.compact()
	}
}

// compact forgets the oldest deletion. A reader that resumes before it may have missed
// it, and has to start over.
func (h *history[K, V]) compact() {
	for e := h.order.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*change[K, V]); c.gone {
			h.compacted = c.revision
			h.order.Remove(e)
			h.gone--
			return
		}
	}
}

// get returns the present state of a key.
func (h *history[K, V]) get(key K) (V, bool) {
	if e, ok := h.present[key]; ok {
		return e.Value.(*change[K, V]).value, true
	}
	var none V
	return none, false
}

// len returns how many keys are present.
func (h *history[K, V]) len() int { return len(h.present) }

// all returns the present states, the oldest change first.
func (h *history[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for e := h.order.Front(); e != nil; e = e.Next() {
			if c := e.Value.(*change[K, V]); !c.gone && !yield(c.key, c.value) {
				return
			}
		}
	}
}

// since returns what changed after a revision, the oldest change first. Now is the
// present revision.
func (h *history[K, V]) since(revision, now int64) ([]change[K, V], error) {
	if revision < h.compacted || revision > now {
		return nil, fmt.Errorf("changes since revision %d are not kept, list again: %w", revision, node.ErrCompacted)
	}
	var changed []change[K, V]
	for e := h.order.Back(); e != nil; e = e.Prev() {
		c := e.Value.(*change[K, V])
		if c.revision <= revision {
			break
		}
		changed = append(changed, *c)
	}
	slices.Reverse(changed)
	return changed, nil
}
