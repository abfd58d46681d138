package stats

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// shared is a value that is collected on request, once for all requests within its short lifetime.
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
		// The collection goes on if its first caller is gone: others wait for it too.
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
