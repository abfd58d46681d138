package listen

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// guest is a connection on its way to net/http, with what is known of its caller.
type guest struct {
	net.Conn
	secure *tls.ConnectionState   // nil without TLS
	place  atomic.Pointer[member] // among those that are not known; nil for a known caller
	heard  int                    // bytes of requests without an identity
	idle   *idler                 // nil where net/http closes idle connections
}

func newGuest(c net.Conn, place *member) *guest {
	g := &guest{Conn: c}
	if secure := secureOf(c); secure != nil {
		state := secure.ConnectionState()
		g.secure = &state
	}
	g.place.Store(place)
	return g
}

// newHTTP2Guest returns a guest who speaks HTTP/2, and may be idle for some time.
func newHTTP2Guest(c net.Conn, place *member, idle time.Duration) *guest {
	g := newGuest(c, place)
	g.idle = newIdler(g.Conn, idle)
	return g
}

// NetConn returns the connection below.
func (g *guest) NetConn() net.Conn { return g.Conn }

// Close closes the connection and gives its place up.
func (g *guest) Close() error {
	g.moveTo(nil)
	g.idle.end()
	return g.Conn.Close()
}

// Read reads from the connection. While the caller is unknown, it returns io.EOF after
// strangerBytes in all, as if the client had gone: nothing that a stranger may do takes more.
func (g *guest) Read(p []byte) (int, error) {
	if g.place.Load() == nil {
		return g.Conn.Read(p)
	}
	if g.heard >= strangerBytes {
		return 0, io.EOF
	}
	n, err := g.Conn.Read(p[:min(len(p), strangerBytes-g.heard)])
	g.heard += n
	return n, err
}

// moveTo gives up the connection's place and takes another. nil is for a known caller, which
// needs none.
func (g *guest) moveTo(place *member) {
	if old := g.place.Swap(place); old != nil {
		old.leave()
	}
}

type guestKey struct{}

func guestOf(ctx context.Context) *guest {
	g, _ := ctx.Value(guestKey{}).(*guest)
	return g
}

// proves reports whether a request proves an identity, or the connection alone if it has none yet, and names it.
func (f *Front) proves(ctx context.Context, c net.Conn, r *http.Request) (caller string, known bool) {
	if r == nil {
		r = &http.Request{Header: http.Header{}, RemoteAddr: c.RemoteAddr().String()}
	}
	if secure := secureOf(c); secure != nil {
		state := secure.ConnectionState()
		r.TLS = &state
	}
	if f.connContext != nil {
		ctx = f.connContext(ctx, bottom(c))
	}
	return f.knows(r.WithContext(ctx))
}

// secureOf finds the TLS connection below c, or nil.
func secureOf(c net.Conn) *tls.Conn {
	for {
		if secure, ok := c.(*tls.Conn); ok {
			return secure
		}
		wrapped, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = wrapped.NetConn()
	}
}

// receive passes requests on. A request without an identity gets little room and little time.
// The first request of a connection that proves one makes its caller known.
func (f *Front) receive(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g := guestOf(r.Context())
		g.idle.begin()
		defer g.idle.finish()
		r.TLS = g.secure // net/http knows of TLS by the type of a connection only
		place := g.place.Load()
		if place == nil {
			next.ServeHTTP(w, r)
			return
		}
		if _, known := f.knows(r); known {
			g.moveTo(nil)
			widen(w, r)
			next.ServeHTTP(w, r)
			return
		}
		if place.crowd == f.newcomers {
			place = f.strangers.add(g.Conn)
			g.moveTo(place)
		}
		place.begin()
		defer place.finish()
		narrow(w, r)
		next.ServeHTTP(w, r)
	})
}

// widen takes back what narrow has set for an earlier request. The limits of an HTTP/2
// connection stay as they are, so the client is asked to make another one, which has wider ones.
func widen(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetWriteDeadline(noDeadline)
	if r.ProtoMajor == 2 {
		w.Header().Set("Connection", "close")
	}
}

// narrow bounds a request without an identity.
func narrow(w http.ResponseWriter, r *http.Request) {
	until := time.Now().Add(strangerTime)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(until)
	_ = control.SetWriteDeadline(until)
	if r.ProtoMajor == 1 && r.ContentLength != 0 {
		w.Header().Set("Connection", "close") // net/http would wait for the body before it answers
	}
	r.Body = http.MaxBytesReader(w, r.Body, strangerBody)
}

// noDeadline removes one.
var noDeadline time.Time
