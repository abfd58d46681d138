package stats

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// shared is something that is collected when it is asked for, once for all who ask
// within its short age.
type shared[T any] struct {
	collect func(context.Context) (T, error)

	mu    sync.Mutex
	taken time.Time
	known T
	err   error
	next  chan struct{} // closed when the present collection has ended; nil without one
}

func (s *shared[T]) get(ctx context.Context) (T, error) {
	s.mu.Lock()
	if !s.taken.IsZero() && time.Since(s.taken) < freshness {
		defer s.mu.Unlock()
		return s.known, s.err
	}
	if s.next == nil {
		s.next = make(chan struct{})
		// Others wait for it: it does not end because the first to ask is gone.
		go s.renew(context.WithoutCancel(ctx), s.next)
	}
	done := s.next
	s.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("wait for stats: %w", ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known, s.err
}

func (s *shared[T]) renew(ctx context.Context, done chan struct{}) {
	found, err := s.collect(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.err, s.taken, s.next = found, err, time.Now(), nil
	close(done)
}
