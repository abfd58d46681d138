package store

import (
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Tx is a transaction in the making: reads see its own writes.
type Tx struct {
	store    *Store
	writes   map[node.Key]*node.Slot
	keys     []node.Key
	objects  map[node.ObjectRef]*node.Object // nil for one that is forgotten
	refs     []node.ObjectRef
	reserved bool
}

// Update journals a change to the slot of a key, as long as the same pod owns it. The
// change is made to a copy, which counts once it is put.
func (s *Store) Update(key node.Key, uid types.UID, change func(*Tx, *node.Slot)) error {
	_, err := s.Transact(func(tx *Tx) error {
		slot := tx.Get(key)
		if slot == nil || slot.Pod.UID() != uid {
			return fmt.Errorf("pod %s with uid %s: %w", key, uid, node.ErrNotFound)
		}
		next := *slot
		change(tx, &next)
		return nil
	})
	return err
}

// Get returns the slot of a key, or nil.
func (tx *Tx) Get(key node.Key) *node.Slot {
	if slot, ok := tx.writes[key]; ok {
		return slot
	}
	view, ok := tx.store.View(key)
	if !ok {
		return nil
	}
	return view.Slot
}

// Len returns the number of keys that are held.
func (tx *Tx) Len() int {
	tx.store.mu.RLock()
	defer tx.store.mu.RUnlock()
	n := len(tx.store.pods.present)
	for key, slot := range tx.writes {
		_, held := tx.store.pods.get(key)
		switch {
		case slot == nil && held:
			n--
		case slot != nil && !held:
			n++
		}
	}
	return n
}

// All visits every slot that is held, in an order that means nothing.
func (tx *Tx) All() iter.Seq2[node.Key, *node.Slot] {
	return func(yield func(node.Key, *node.Slot) bool) {
		for key, slot := range tx.writes {
			if slot != nil && !yield(key, slot) {
				return
			}
		}
		for _, v := range tx.store.present() {
			if _, rewritten := tx.writes[v.Key]; !rewritten && !yield(v.Key, v.Slot) {
				return
			}
		}
	}
}

// Put replaces the slot of a key; nil forgets it.
func (tx *Tx) Put(key node.Key, slot *node.Slot) {
	if _, ok := tx.writes[key]; !ok {
		tx.keys = append(tx.keys, key)
	}
	tx.writes[key] = slot
}

// ByUID returns the key with a pod of the UID, or with one that waits for its name.
func (tx *Tx) ByUID(uid types.UID) (node.Key, bool) {
	if uid == "" {
		return node.Key{}, false
	}
	for _, key := range tx.keys {
		if slot := tx.writes[key]; slot.Holds(uid) {
			return key, true
		}
	}
	tx.store.mu.RLock()
	defer tx.store.mu.RUnlock()
	key, held := tx.store.holders[uid]
	if _, rewritten := tx.writes[key]; !held || rewritten {
		return node.Key{}, false
	}
	return key, true
}

// Reserved lets the commit use the space that is kept back for deletions.
func (tx *Tx) Reserved() { tx.reserved = true }

// Transact journals what fn puts and then publishes it, all or nothing, and
// returns the revision at which it is in force.
func (s *Store) Transact(fn func(*Tx) error) (int64, error) {
	s.commit.Lock()
	defer s.commit.Unlock()
	tx := s.begin()
	if err := fn(tx); err != nil {
		return 0, err
	}
	if len(tx.keys)+len(tx.refs) == 0 {
		return s.Revision(), nil
	}
	records, err := tx.records()
	if err != nil {
		return 0, err
	}
	write := s.journal.Commit
	if tx.reserved {
		write = s.journal.CommitReserved
	}
	if err := write(records...); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ref := range tx.refs { // first, for the pods that use them
		s.publishObject(ref, tx.objects[ref])
	}
	for _, key := range tx.keys {
		s.publishSlot(key, tx.writes[key])
	}
	return s.clock.Now(), nil
}

// Try runs fn as Transact would, while no transaction changes anything, and keeps
// nothing of what it puts.
func (s *Store) Try(fn func(*Tx) error) error {
	s.commit.Lock()
	defer s.commit.Unlock()
	return fn(s.begin())
}

func (s *Store) begin() *Tx {
	return &Tx{store: s, writes: map[node.Key]*node.Slot{}, objects: map[node.ObjectRef]*node.Object{}}
}
