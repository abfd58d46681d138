package node

import "sync"

// Bell wakes all waiters when something changes. It does not say how often it rang or why: a
// waiter reads again.
type Bell struct {
	mu   sync.Mutex
	rung chan struct{} // nil without a waiter
}

// Ring wakes all waiters.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}

// Heard returns a channel that is closed at the next ring. Take it before reading the state that it
// guards.
func (b *Bell) Heard() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}
