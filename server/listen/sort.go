package listen

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"time"
)

// helloTimeout bounds the time in which a connection has to say what it is.
const helloTimeout = 10 * time.Second

// kind names the server that a connection is for.
type kind int

const (
	forHTTP1 kind = iota
	forHTTP2
	forGRPC // a client of HTTP/2 that does not offer HTTP/1
)

// sorter finds out what a connection is for. The connection it returns stands in for the one
// it was given.
type sorter func(ctx context.Context, conn net.Conn) (net.Conn, kind, error)

// maxHello bounds what a client may send before its handshake is done. A hello has two KiB at most, and a chain of
// certificates a few more.
const maxHello = 32 << 10

var errLongHello = errors.New("the handshake is too long")

// helloConn carries what the hello offered from the callback that sees it, and bounds the
// handshake.
type helloConn struct {
	net.Conn
	offered []string
	left    int // bytes of the handshake
	done    bool
}

func (c *helloConn) Read(p []byte) (int, error) {
	if c.done {
		return c.Conn.Read(p)
	}
	if c.left == 0 {
		return 0, errLongHello
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// NetConn returns the connection below.
func (c *helloConn) NetConn() net.Conn { return c.Conn }

// sortTLS makes the handshake. One configuration serves all connections, so that
// session tickets of one are good for the next.
func (f *Front) sortTLS(base *tls.Config) sorter {
	config := base.Clone()
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if c, ok := hello.Conn.(*helloConn); ok {
			c.offered = hello.SupportedProtos
		}
		if base.GetConfigForClient == nil {
			return nil, nil
		}
		return base.GetConfigForClient(hello)
	}
	return func(ctx context.Context, conn net.Conn) (net.Conn, kind, error) {
		hello := &helloConn{Conn: conn, left: maxHello}
		secure := tls.Server(hello, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			answerPlain(err)
			return nil, forHTTP1, err
		}
		hello.done = true
		switch {
		case secure.ConnectionState().NegotiatedProtocol != "h2":
			return secure, forHTTP1, nil
		case slices.Equal(hello.offered, []string{"h2"}):
			return secure, forGRPC, nil
		}
		return secure, forHTTP2, nil
	}
}

// answerPlain answers a client that spoke plain HTTP to a TLS port, in the words of
// net/http.
func answerPlain(err error) {
	var record tls.RecordHeaderError
	if !errors.As(err, &record) || record.Conn == nil {
		return
	}
	switch string(record.RecordHeader[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH":
		record.Conn.SetWriteDeadline(time.Now().Add(time.Second))
		io.WriteString(record.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
	}
}

// peekedConn first reads again the bytes by which the connection was sorted.
type peekedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *peekedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// NetConn returns the connection below.
func (c *peekedConn) NetConn() net.Conn { return c.Conn }

// sortPlain knows HTTP/2 by its preface; no method of HTTP/1 is called PRI.
func (f *Front) sortPlain(ctx context.Context, conn net.Conn) (net.Conn, kind, error) {
	const preface = "PRI "
	deadline, _ := ctx.Deadline()
	if err := conn.SetReadDeadline(deadline); err != nil {
		return nil, forHTTP1, err
	}
	r := bufio.NewReader(conn)
	first, err := r.Peek(len(preface))
	if err != nil {
		return nil, forHTTP1, err
	}
	if err := conn.SetReadDeadline(noDeadline); err != nil {
		return nil, forHTTP1, err
	}
	is := forHTTP1
	if string(first) == preface {
		is = forGRPC
	}
	return &peekedConn{Conn: conn, r: r}, is, nil
}

// bottom unwraps to the connection that the kernel knows.
func bottom(c net.Conn) net.Conn {
	for {
		wrapped, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = wrapped.NetConn()
	}
}
