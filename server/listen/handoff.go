package listen

import (
	"container/list"
	"net"
	"sync"
)

// handoff is a listener that is handed connections which were accepted elsewhere.
type handoff struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

var _ net.Listener = (*handoff)(nil)

func newHandoff() *handoff {
	return &handoff{conns: make(chan net.Conn), done: make(chan struct{})}
}

// pass reports whether the server took the connection.
func (h *handoff) pass(c net.Conn) bool {
	select {
	case h.conns <- c:
		return true
	case <-h.done:
		return false
	}
}

func (h *handoff) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

func (h *handoff) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

func (h *handoff) Addr() net.Addr { return handoffAddr{} }

type handoffAddr struct{}

func (handoffAddr) Network() string { return "handoff" }
func (handoffAddr) String() string  { return "handoff" }

// maxPending bounds the connections that have not said yet what they are.
const maxPending = 512

// pending holds those connections, oldest first.
type pending struct {
	max int

	mu     sync.Mutex
	conns  list.List
	closed bool
}

func newPending(max int) *pending { return &pending{max: max} }

// add registers c. When full, it drops the oldest connection, which is the least likely to be
// honest; closing that ends the wait for its hello.
func (p *pending) add(c net.Conn) *list.Element {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
	}
	if p.conns.Len() >= p.max {
		oldest := p.conns.Front()
		p.conns.Remove(oldest).(net.Conn).Close()
	}
	return p.conns.PushBack(c)
}

// remove gives the place up; it may be gone already.
func (p *pending) remove(place *list.Element) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns.Remove(place)
}

func (p *pending) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for e := p.conns.Front(); e != nil; e = e.Next() {
		e.Value.(net.Conn).Close()
	}
}
