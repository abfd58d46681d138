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

// sorter finds out whether a connection is for gRPC's own transport. The connection it
// returns stands in for the one it was given.
type sorter func(ctx context.Context, conn net.Conn) (sorted net.Conn, isGRPC bool, err error)

// helloConn carries what the hello offered from the callback that sees it.
type helloConn struct {
	net.Conn
	offered []string
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
	return func(ctx context.Context, conn net.Conn) (net.Conn, bool, error) {
		hello := &helloConn{Conn: conn}
		secure := tls.Server(hello, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			answerPlain(err)
			return nil, false, err
		}
		native := slices.Equal(hello.offered, []string{"h2"}) && secure.ConnectionState().NegotiatedProtocol == "h2"
		return secure, native, nil
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
func (f *Front) sortPlain(ctx context.Context, conn net.Conn) (net.Conn, bool, error) {
	const preface = "PRI "
	deadline, _ := ctx.Deadline()
	if err := conn.SetReadDeadline(deadline); err != nil {
		return nil, false, err
	}
	r := bufio.NewReader(conn)
	first, err := r.Peek(len(preface))
	if err != nil {
		return nil, false, err
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, false, err
	}
	return &peekedConn{Conn: conn, r: r}, string(first) == preface, nil
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
