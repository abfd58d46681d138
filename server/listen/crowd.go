package listen

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"time"
)

// crowd bounds what is held of callers that have not proven an identity: connections, in all
// and of one address, and requests. The one that has been quiet longest makes room, since it
// is the least likely to be honest: an honest caller proves itself within milliseconds.
type crowd struct {
	most, each int           // connections, in all and of one address
	requests   int           // under way at a time, of all connections together
	age        time.Duration // after which a connection is closed; zero means no limit

	mu      sync.Mutex
	members list.List // of *member, the longest quiet first
	busy    int       // requests under way
	closed  bool
}

// member is a connection in a crowd.
type member struct {
	crowd    *crowd
	conn     net.Conn
	from     netip.Prefix
	requests int           // under way
	place    *list.Element // nil once it has left
	end      *time.Timer   // nil if the crowd has no age
}

// add registers conn, and makes room for it.
func (c *crowd) add(conn net.Conn) *member {
	m := &member{crowd: c, conn: bottom(conn), from: networkOf(conn.RemoteAddr())}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close()
	}
	same := func(other *member) bool { return other.from == m.from }
	if c.count(same) >= c.each {
		c.expelQuietest(same)
	} else if c.members.Len() >= c.most {
		c.expelQuietest(func(*member) bool { return true })
	}
	m.place = c.members.PushBack(m)
	if c.age > 0 {
		m.end = time.AfterFunc(c.age, m.expel)
	}
	return m
}

// networkOf returns the network that counts as one address: one caller has all of a /64.
// Peers of a unix socket share the zero prefix.
func networkOf(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap()
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	network, _ := ip.WithZone("").Prefix(bits) // the bits fit the address
	return network
}

func (c *crowd) count(matches func(*member) bool) (n int) {
	for e := c.members.Front(); e != nil; e = e.Next() {
		if matches(e.Value.(*member)) {
			n++
		}
	}
	return n
}

// expelQuietest closes a connection without a request under way or, if there is none, the one
// whose request is the oldest.
func (c *crowd) expelQuietest(matches func(*member) bool) {
	var victim *member
	for e := c.members.Front(); e != nil; e = e.Next() {
		m := e.Value.(*member)
		if !matches(m) {
			continue
		}
		if m.requests == 0 {
			victim = m
			break
		}
		if victim == nil {
			victim = m
		}
	}
	if victim != nil {
		c.remove(victim)
		victim.conn.Close()
	}
}

func (c *crowd) remove(m *member) {
	if m.place == nil {
		return
	}
	c.members.Remove(m.place)
	m.place = nil
	c.busy -= m.requests
	if m.end != nil {
		m.end.Stop()
	}
}

// closeAll closes every connection, and those that come later.
func (c *crowd) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for e := c.members.Front(); e != nil; e = e.Next() {
		e.Value.(*member).conn.Close()
	}
}

// begin counts a request. If there are too many, the connection with the oldest one is closed.
func (m *member) begin() {
	c := m.crowd
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.place == nil {
		return
	}
	m.requests++
	c.busy++
	c.members.MoveToBack(m.place)
	if c.busy > c.requests {
		c.expelQuietest(func(other *member) bool { return other.requests > 0 })
	}
}

// finish ends a request that has begun.
func (m *member) finish() {
	c := m.crowd
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.place == nil {
		return
	}
	m.requests--
	c.busy--
	c.members.MoveToBack(m.place)
}

// leave gives the place up; it may be gone already.
func (m *member) leave() {
	m.crowd.mu.Lock()
	defer m.crowd.mu.Unlock()
	m.crowd.remove(m)
}

// expel closes the connection of a member that is still there.
func (m *member) expel() {
	m.crowd.mu.Lock()
	defer m.crowd.mu.Unlock()
	if m.place == nil {
		return
	}
	m.crowd.remove(m)
	m.conn.Close()
}
