package cri

import (
	"fmt"
	"net"
	"sync"
)

// gate stands between the listeners and gRPC, so that a crash can drop the connections. The
// listeners belong to the caller and stay open.
type gate struct {
	mu     sync.Mutex
	closed bool
	conns  map[*gateConn]struct{}
}

func newGate() *gate {
	return &gate{conns: map[*gateConn]struct{}{}}
}

func (g *gate) listen(l net.Listener) net.Listener {
	return &gateListener{Listener: l, gate: g}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
}

func (g *gate) shut() {
	g.mu.Lock()
	g.closed = true
	conns := g.conns
	g.conns = map[*gateConn]struct{}{}
	g.mu.Unlock()
	for conn := range conns {
		_ = conn.Conn.Close() // the peer notices; nothing else depends on it
	}
}

func (g *gate) admit(conn net.Conn) (net.Conn, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, false
	}
	admitted := &gateConn{Conn: conn, gate: g}
	g.conns[admitted] = struct{}{}
	return admitted, true
}

type gateListener struct {
	net.Listener
	gate *gate
}

func (l *gateListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err // gRPC distinguishes temporary errors by their type
		}
		if admitted, ok := l.gate.admit(conn); ok {
			return admitted, nil
		}
		_ = conn.Close()
	}
}

type gateConn struct {
	net.Conn
	gate *gate
}

func (c *gateConn) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.conns, c)
	c.gate.mu.Unlock()
	if err := c.Conn.Close(); err != nil {
		return fmt.Errorf("close connection: %w", err)
	}
	return nil
}
