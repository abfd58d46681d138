package store

import "sync"

// Followed collects every state that pods have had since the last Take, for one reader. A watch sees the latest state of
// each pod alone.
type Followed struct {
	mu    sync.Mutex
	most  int
	views []View
	lost  bool
}

// Follow begins to collect so many states at most.
func (s *Store) Follow(most int) *Followed {
	f := &Followed{most: most}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followed = append(s.followed, f)
	return f
}

// Take returns the states in their order. It reports whether there were more than fit, so that some are lost.
func (f *Followed) Take() (views []View, lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	views, lost = f.views, f.lost
	f.views, f.lost = nil, false
	return views, lost
}

func (f *Followed) add(v View) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.views) >= f.most {
		f.views, f.lost = nil, true
	}
	f.views = append(f.views, v)
}
