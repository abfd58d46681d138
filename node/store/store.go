package store

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Store holds every slot with what was observed for it, under one revision that only grows,
// restarts included. Writers go through Transact and Observe; readers take snapshots and wait on
// Changed.
type Store struct {
	commit  sync.Mutex // one transaction at a time; held while the journal works
	journal Journal
	clock   *Clock

	mu        sync.RWMutex // guards what follows, never held during I/O
	pods      *history[node.Key, *View]
	holders   map[types.UID]node.Key
	waiting   map[node.Key]bool // pods that wait for what others may give back
	withheld  map[string]error  // records of a newer agent, by name: what they are
	running   Running           // as the runtime has shown it last
	objects   *history[node.ObjectRef, *node.Object]
	families  map[node.ObjectRef]int64 // revision of the last change to any of each
	objectsAt int64                    // of the last change to any at all
	followed  []*Followed
}

// View is the snapshot of one key at one revision.
type View struct {
	Key      node.Key
	Slot     *node.Slot
	Got      *node.Observed
	Revision int64
	Gone     bool // a tombstone: the last that was seen of the key
}

const keptTombstone = 1024

// New makes an empty store. History before the clock's present revision
// counts as compacted.
func New(journal Journal, clock *Clock) *Store {
	return &Store{
		journal: journal, clock: clock,
		pods: newHistory[node.Key, *View](clock.Now()), holders: map[types.UID]node.Key{},
		waiting: map[node.Key]bool{}, withheld: map[string]error{},
		objects: newHistory[node.ObjectRef, *node.Object](clock.Now()), families: map[node.ObjectRef]int64{},
	}
}

// Holds reports whether a pod, or one that waits for its name, has the UID.
func (s *Store) Holds(uid types.UID) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, held := s.holders[uid]
	return held
}

// publish gives the view the next revision and wakes all waiters.
func (s *Store) publishSlot(key node.Key, slot *node.Slot) {
	view := View{Key: key, Slot: slot, Got: &node.Observed{}}
	if old, ok := s.pods.get(key); ok {
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
	old, ok := s.pods.get(key)
	if !ok {
		return
	}
	view := *old
	view.Got = got
	s.publish(view)
}

// publish gives the view the next revision and wakes all waiters.
func (s *Store) publish(view View) {
	if old, ok := s.pods.get(view.Key); ok {
		s.release(old)
	}
	view.Revision = s.clock.Next()
	for _, f := range s.followed {
		f.add(view)
	}
	s.pods.put(change[node.Key, *View]{key: view.Key, value: &view, revision: view.Revision, gone: view.Gone})
	delete(s.waiting, view.Key)
	if view.Gone {
		delete(s.running, view.Key) // a pod is forgotten once nothing of it is left
		return
	}
	s.hold(&view)
	if view.Slot.Waits() {
		s.waiting[view.Key] = true
	}
}

// hold notes which key the UIDs of a view's pods belong to.
func (s *Store) hold(view *View) {
	for _, uid := range view.Slot.UIDs() {
		s.holders[uid] = view.Key
	}
}

func (s *Store) release(view *View) {
	for _, uid := range view.Slot.UIDs() {
		if s.holders[uid] == view.Key {
			delete(s.holders, uid)
		}
	}
}

// View returns the snapshot of one key.
func (s *Store) View(key node.Key) (View, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	view, ok := s.pods.get(key)
	if !ok {
		return View{}, false
	}
	return *view, true
}

// Views returns all present pods, sorted by key, and the revision they show.
func (s *Store) Views() ([]View, int64) {
	s.mu.RLock()
	views := make([]View, 0, s.pods.len())
	for _, view := range s.pods.all() {
		views = append(views, *view)
	}
	revision := s.clock.Now()
	s.mu.RUnlock()
	slices.SortFunc(views, func(a, b View) int { return a.Key.Compare(b.Key) })
	return views, revision
}

// present returns all present pods, oldest change first.
func (s *Store) present() []*View {
	s.mu.RLock()
	defer s.mu.RUnlock()
	views := make([]*View, 0, s.pods.len())
	for _, view := range s.pods.all() {
		views = append(views, view)
	}
	return views
}

// Since returns what changed after a revision, oldest change first, each key
// in its latest state, and the revision to ask from next time.
func (s *Store) Since(revision int64) ([]View, int64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now := s.clock.Now()
	found, err := s.pods.since(revision, now)
	if err != nil {
		return nil, 0, err
	}
	changed := make([]View, len(found))
	for i, c := range found {
		changed[i] = *c.value
	}
	return changed, now, nil
}

// Revision returns the present revision.
func (s *Store) Revision() int64 { return s.clock.Now() }

// Changed returns a channel that is closed at the next change. Take it before
// reading what it shall guard.
func (s *Store) Changed() <-chan struct{} { return s.clock.Changed() }
