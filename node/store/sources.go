package store

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"nodal/node"
)

// Sources is the board on which each pod source reports. Until all of them have delivered once,
// it is unknown which pods are unwanted.
type Sources struct {
	mu      sync.RWMutex
	state   map[node.Source]*SourceState
	claims  node.Claims // of the cluster; nil until it was heard
	ready   chan struct{}
	changed node.Bell
}

// SourceState is the state of one source.
type SourceState struct {
	Source    node.Source
	Location  string
	Delivered time.Time // zero until the first delivery
	Errors    map[string]SourceError
}

// SourceError is the present fault of one file or URL.
type SourceError struct {
	Origin  string
	Message string
	Time    time.Time
}

// NewSources announces the sources that will report, with their places.
func NewSources(locations map[node.Source]string) *Sources {
	s := &Sources{state: map[node.Source]*SourceState{}, ready: make(chan struct{})}
	for source, location := range locations {
		s.state[source] = &SourceState{Source: source, Location: location}
	}
	s.signal()
	return s
}

// Delivered records that a source has delivered all the pods it has, and the errors of the rest, by
// origin. A zero time means that the node could not take some of the valid ones yet: the errors are
// recorded, the delivery is not.
func (s *Sources) Delivered(source node.Source, at time.Time, errors map[string]SourceError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state, ok := s.state[source]; ok {
		state.Errors = maps.Clone(errors)
		if !at.IsZero() {
			state.Delivered = at
		}
	}
	s.signal()
	s.changed.Ring()
}

// Heard records that the cluster has listed its pods. The claims answer for those that it has yet to post.
func (s *Sources) Heard(at time.Time, claims node.Claims) {
	s.mu.Lock()
	s.claims = claims
	s.mu.Unlock()
	s.Delivered(node.SourceCluster, at, nil)
}

// Ring wakes those who wait for a change: claims answer differently now.
func (s *Sources) Ring() { s.changed.Ring() }

// Claims returns those of the cluster, or nil if it was not heard yet.
func (s *Sources) Claims() node.Claims {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.claims
}

// Failed records that a source could not be read at all. Its last delivery stays in force.
func (s *Sources) Failed(source node.Source, failure SourceError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state, ok := s.state[source]; ok {
		state.Errors = map[string]SourceError{failure.Origin: failure}
	}
	s.changed.Ring()
}

func (s *Sources) signal() {
	for _, state := range s.state {
		if state.Delivered.IsZero() {
			return
		}
	}
	select {
	case <-s.ready:
	default:
		close(s.ready)
	}
}

// Waiting returns the sources that have not delivered yet.
func (s *Sources) Waiting() map[node.Source]bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	waiting := map[node.Source]bool{}
	for source, state := range s.state {
		if state.Delivered.IsZero() {
			waiting[source] = true
		}
	}
	return waiting
}

// Ready returns a channel that is closed once every source has delivered.
func (s *Sources) Ready() <-chan struct{} { return s.ready }

// Changed returns a channel that is closed at the next delivery or failure. Take it before List.
func (s *Sources) Changed() <-chan struct{} { return s.changed.Heard() }

// List returns the sources by name.
func (s *Sources) List() []SourceState {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]SourceState, 0, len(s.state))
	for _, state := range s.state {
		c := *state
		c.Errors = maps.Clone(state.Errors)
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b SourceState) int { return cmp.Compare(a.Source, b.Source) })
	return list
}
