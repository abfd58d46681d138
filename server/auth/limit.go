package auth

import (
	"sync"

	"google.golang.org/grpc/codes"

	"nodal/node"
)

// Limiter bounds how many streams one identity holds at a time, so that one forgotten
// script cannot take the node's memory. The zero value refuses every stream.
type Limiter struct {
	Max int

	mu   sync.Mutex
	open map[string]int
}

// Acquire takes a place for id. The error is RESOURCE_EXHAUSTED to gRPC, 429 to HTTP,
// and wraps node.ErrNotReady: the place may be free later.
func (l *Limiter) Acquire(id Identity) (release func(), err error) {
	key := id.key()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[key] >= l.Max {
		return nil, refuse(codes.ResourceExhausted, node.ErrNotReady, "%q already holds %d streams", id.Name, l.Max)
	}
	if l.open == nil {
		l.open = map[string]int{}
	}
	l.open[key]++
	return sync.OnceFunc(func() { l.release(key) }), nil
}

// key tells identities apart by which callers are bounded.
func (id Identity) key() string { return id.Via + "/" + id.Name }

func (l *Limiter) release(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[key]--
	if l.open[key] == 0 {
		delete(l.open, key)
	}
}
