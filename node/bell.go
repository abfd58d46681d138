package node

import "sync"

// Bell wakes everybody who waits for something to change. It says that it rang,
// not how often nor why: who hears it looks for himself.
type Bell struct {
	mu   sync.Mutex
	rung chan struct{} // nil while nobody waits
}

// Ring wakes those who wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}

// Heard returns a channel that is closed at the next ring. Take it before
// reading what it shall guard.
func (b *Bell) Heard() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}
