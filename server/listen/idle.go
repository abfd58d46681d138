package listen

import (
	"net"
	"sync"
	"time"
)

// idler closes a connection of HTTP/2 after some time without a request. It does what IdleTimeout of net/http does, with
// one difference: net/http starts its timer again when a connection ends in the middle of a request, and the timer then
// keeps all buffers of the connection. Callers that come and go could fill the memory so.
type idler struct {
	conn  net.Conn
	after time.Duration

	mu       sync.Mutex
	requests int // under way
	closed   bool
	timer    *time.Timer
}

func newIdler(conn net.Conn, after time.Duration) *idler {
	return &idler{conn: conn, after: after, timer: time.AfterFunc(after, func() { conn.Close() })}
}

// begin counts a request. nil closes nothing.
func (i *idler) begin() {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.requests++
	i.timer.Stop()
}

// finish ends a request that has begun.
func (i *idler) finish() {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.requests--; i.requests == 0 && !i.closed {
		i.timer.Reset(i.after)
	}
}

// end stops the timer for good: the connection is closed.
func (i *idler) end() {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	i.timer.Stop()
}
