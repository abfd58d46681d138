package store

import (
	"container/list"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Store holds every slot with what was observed for it, under one revision
// that only grows, restarts included. Writers go through Transact and Observe;
// everybody else reads snapshots and waits on Changed.
type Store struct {
	commit  sync.Mutex // one transaction at a time; held while the journal works
	journal Journal
	clock   *Clock

	mu        sync.RWMutex // guards what follows, never held during I/O
	entries   map[node.Key]*list.Element
	order     *list.List        // of *View, by revision
	gone      int               // tombstones in order
	waiting   map[node.Key]bool // pods that wait for what others may give back
	compacted int64             // history up to here is incomplete
	objects   map[node.ObjectRef]*node.Object
	families  map[node.ObjectRef]int64 // revision of the last change to any of each
	objectsAt int64                    // of the last change to any at all
}

// View is the snapshot of one key at one revision.
type View struct {
	Key      node.Key
	Slot     *node.Slot
	Got      *node.Observed
	Revision int64
	Gone     bool // a tombstone: the last that was seen of the key
}

const (
	podRecords    = "pods/"
	objectRecords = "objects/"
	keptTombstone = 1024
)

// New makes an empty store. History before the clock's present revision
// counts as compacted.
func New(journal Journal, clock *Clock) *Store {
	return &Store{
		journal: journal, clock: clock, compacted: clock.Now(),
		entries: map[node.Key]*list.Element{}, order: list.New(), waiting: map[node.Key]bool{},
		objects: map[node.ObjectRef]*node.Object{}, families: map[node.ObjectRef]int64{},
	}
}

// Restore fills an empty store from the journal's records. A record that does
// not decode costs its own pod only.
func (s *Store) Restore(records []Record) []error {
	var problems []error
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		if strings.HasPrefix(r.Name, objectRecords) {
			if err := s.restoreObject(r); err != nil {
				problems = append(problems, fmt.Errorf("decode record %s: %w", r.Name, err))
			}
			continue
		}
		if !strings.HasPrefix(r.Name, podRecords) {
			continue
		}
		slot, err := decodeSlot(r)
		if err != nil {
			problems = append(problems, fmt.Errorf("decode record %s: %w", r.Name, err))
			continue
		}
		s.publish(View{Key: slot.Pod.Key(), Slot: slot, Got: &node.Observed{}})
	}
	return problems
}

// decodeSlot reads what records has written. A record under another pod's name
// would be found again by nobody.
func decodeSlot(r Record) (*node.Slot, error) {
	slot := &node.Slot{}
	if err := json.Unmarshal(r.Data, slot); err != nil {
		return nil, err
	}
	switch {
	case slot.Pod == nil || slot.Pod.Object == nil:
		return nil, errors.New("it names no pod")
	case slot.Next != nil && slot.Next.Object == nil:
		return nil, errors.New("the pod that waits has no manifest")
	case recordName(slot.Pod.Key()) != r.Name:
		return nil, fmt.Errorf("it holds pod %s", slot.Pod.Key())
	}
	return slot, nil
}

func recordName(key node.Key) string { return podRecords + key.Namespace + "_" + key.Name }

// Tx is a transaction in the making: reads see its own writes.
type Tx struct {
	store    *Store
	writes   map[node.Key]*node.Slot
	keys     []node.Key
	objects  map[node.ObjectRef]*node.Object // nil: gone
	refs     []node.ObjectRef
	reserved bool
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

// Len is how many keys are held.
func (tx *Tx) Len() int {
	tx.store.mu.RLock()
	defer tx.store.mu.RUnlock()
	n := len(tx.store.entries)
	for key, slot := range tx.writes {
		_, held := tx.store.entries[key]
		switch {
		case slot == nil && held:
			n--
		case slot != nil && !held:
			n++
		}
	}
	return n
}

// All visits every slot that is held, in no order.
func (tx *Tx) All() iter.Seq2[node.Key, *node.Slot] {
	return func(yield func(node.Key, *node.Slot) bool) {
		for key, slot := range tx.writes {
			if slot != nil && !yield(key, slot) {
				return
			}
		}
		views, _ := tx.store.Views()
		for _, v := range views {
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

// ByUID returns the key whose pod, or waiting pod, has the UID.
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
	for e := tx.store.order.Front(); e != nil; e = e.Next() {
		v := e.Value.(*View)
		if _, rewritten := tx.writes[v.Key]; !rewritten && !v.Gone && v.Slot.Holds(uid) {
			return v.Key, true
		}
	}
	return node.Key{}, false
}

// Holds says whether a pod, or one that waits for its name, has the UID.
func (s *Store) Holds(uid types.UID) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for e := s.order.Front(); e != nil; e = e.Next() {
		if v := e.Value.(*View); !v.Gone && v.Slot.Holds(uid) {
			return true
		}
	}
	return false
}

// Reserved lets the commit use the space that is kept back for deletions.
func (tx *Tx) Reserved() { tx.reserved = true }

// Transact journals what fn puts and then publishes it, all or nothing, and
// returns the revision at which it is in force.
func (s *Store) Transact(fn func(*Tx) error) (int64, error) {
	s.commit.Lock()
	defer s.commit.Unlock()
	tx := &Tx{store: s, writes: map[node.Key]*node.Slot{}, objects: map[node.ObjectRef]*node.Object{}}
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

func (tx *Tx) records() ([]Record, error) {
	records := make([]Record, 0, len(tx.keys)+len(tx.refs))
	for _, ref := range tx.refs {
		record := Record{Name: objectRecord(ref)}
		if object := tx.objects[ref]; object != nil {
			data, err := json.Marshal(object)
			if err != nil {
				return nil, fmt.Errorf("encode record of %s: %w", ref, err)
			}
			record.Data = data
		}
		records = append(records, record)
	}
	for _, key := range tx.keys {
		record := Record{Name: recordName(key)}
		if slot := tx.writes[key]; slot != nil {
			data, err := json.Marshal(slot)
			if err != nil {
				return nil, fmt.Errorf("encode record of pod %s: %w", key, err)
			}
			record.Data = data
		}
		records = append(records, record)
	}
	return records, nil
}

// publishSlot keeps what was observed, as long as a pod holds the key.
func (s *Store) publishSlot(key node.Key, slot *node.Slot) {
	view := View{Key: key, Slot: slot, Got: &node.Observed{}}
	if e, ok := s.entries[key]; ok {
		old := e.Value.(*View)
		view.Got = old.Got
		if slot == nil {
			view.Slot, view.Gone = old.Slot, true
		}
	} else if slot == nil {
		return
	}
	s.publish(view)
}

// Observe replaces what was observed for a key. It is the reconciler's alone.
func (s *Store) Observe(key node.Key, got *node.Observed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[key]
	if !ok {
		return
	}
	view := *e.Value.(*View)
	view.Got = got
	s.publish(view)
}

// publish gives the view the next revision and wakes everybody who waits.
func (s *Store) publish(view View) {
	if e, ok := s.entries[view.Key]; ok {
		s.order.Remove(e)
		delete(s.entries, view.Key)
	}
	view.Revision = s.clock.Next()
	e := s.order.PushBack(&view)
	delete(s.waiting, view.Key)
	if !view.Gone && view.Slot.Waits() {
		s.waiting[view.Key] = true
	}
	if !view.Gone {
		s.entries[view.Key] = e
	} else if s.gone++; s.gone > keptTombstone {
		s.dropTombstone()
	}
}

// dropTombstone forgets the oldest deletion: who resumes before it may have
// missed it, and has to start over.
func (s *Store) dropTombstone() {
	for e := s.order.Front(); e != nil; e = e.Next() {
		if v := e.Value.(*View); v.Gone {
			s.compacted = v.Revision
			s.order.Remove(e)
			s.gone--
			return
		}
	}
}

// View returns the snapshot of one key.
func (s *Store) View(key node.Key) (View, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.entries[key]
	if !ok {
		return View{}, false
	}
	return *e.Value.(*View), true
}

// Views returns all present pods, sorted by key, and the revision they show.
func (s *Store) Views() ([]View, int64) {
	s.mu.RLock()
	views := make([]View, 0, len(s.entries))
	for _, e := range s.entries {
		views = append(views, *e.Value.(*View))
	}
	revision := s.clock.Now()
	s.mu.RUnlock()
	slices.SortFunc(views, func(a, b View) int { return a.Key.Compare(b.Key) })
	return views, revision
}

// Since returns what changed after a revision, oldest change first, each key
// in its latest state, and the revision to ask from next time.
func (s *Store) Since(revision int64) ([]View, int64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if revision < s.compacted || revision > s.clock.Now() {
		return nil, 0, fmt.Errorf("changes since revision %d are not kept, list again: %w", revision, node.ErrCompacted)
	}
	var changed []View
	for e := s.order.Back(); e != nil; e = e.Prev() {
		v := e.Value.(*View)
		if v.Revision <= revision {
			break
		}
		changed = append(changed, *v)
	}
	slices.Reverse(changed)
	return changed, s.clock.Now(), nil
}

// Revision is the present revision.
func (s *Store) Revision() int64 { return s.clock.Now() }

// Changed returns a channel that is closed at the next change. Take it before
// reading what it shall guard.
func (s *Store) Changed() <-chan struct{} { return s.clock.Changed() }
