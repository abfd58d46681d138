package hostile

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/net/http2"
)

var (
	onlyHTTP2 = []string{"h2"}
	both      = []string{"h2", "http/1.1"}
	onlyHTTP1 = []string{"http/1.1"}
)

// All returns every attack. Each ends by itself within a minute.
func All() []Attack {
	return []Attack{
		{"headers to gRPC", 64, onlyHTTP2, headers(gRPC, 512, 30_000)},
		{"headers to net/http", 64, both, headers(rest, 250, 30_000)},
		{"headers within the limit to gRPC", 64, onlyHTTP2, headers(gRPC, 512, 400)},
		{"headers within the limit to net/http", 64, both, headers(rest, 250, 400)},
		{"partial messages to gRPC", 16, onlyHTTP2, partial(gRPC, 512, 4<<20, nil)},
		{"partial messages to net/http", 16, both, partial(gRPC, 250, 4<<20, nil)},
		{"idle connections of gRPC", 1000, onlyHTTP2, idle},
		{"idle connections of net/http", 1000, both, idle},
		{"idle connections of HTTP/1", 1000, onlyHTTP1, idleHTTP1},
		{"slow headers of HTTP/2", 500, onlyHTTP2, slowHeaders},
		{"slow bodies of HTTP/1", 500, onlyHTTP1, slowBodyHTTP1},
		{"slow bodies of HTTP/2", 500, both, slowBody},
	}
}

// Crowd returns an attack of more connections than the server has places for.
func Crowd() Attack { return Attack{"slow headers of HTTP/1", 10_000, onlyHTTP1, slowHeadersHTTP1} }

// Watchers returns an attack of clients with a token that watch pods and never read.
func Watchers(token string) Attack {
	return Attack{"watchers that never read", 1000, onlyHTTP1, func(ctx context.Context, conn net.Conn) error {
		_, err := fmt.Fprintf(conn, "GET /v1/pods:watch HTTP/1.1\r\nHost: node\r\nAuthorization: Bearer %s\r\n\r\n", token)
		if err == nil {
			<-ctx.Done()
		}
		return err
	}}
}

// Proven returns attacks of a client with a token, which may read and nothing else: messages without their last byte, and
// messages without end after the one that a watch takes.
func Proven(token string) []Attack {
	value := "Bearer " + token
	proof := append([]byte("\x00\x0dauthorization"), byte(len(value)))
	proof = append(proof, value...)
	return []Attack{
		{"partial messages of a viewer to gRPC", 4, onlyHTTP2, partial(read, 512, 4<<20, proof)},
		{"partial messages of a viewer to net/http", 4, both, partial(read, 250, 4<<20, proof)},
		{"messages that a viewer may not send to gRPC", 4, onlyHTTP2, partial(gRPC, 512, 4<<20, proof)},
		{"more messages than a watch takes", 4, both, surplus(64, 16<<20, proof)},
	}
}

// surplus returns an attack that opens watches, and goes on sending on them.
func surplus(streams, size int, proof []byte) func(context.Context, net.Conn) error {
	return func(ctx context.Context, conn net.Conn) error {
		c, err := greet(ctx, conn)
		if err != nil {
			return err
		}
		message := make([]byte, 5+64<<10)
		binary.BigEndian.PutUint32(message[1:], uint32(len(message)-5))
		for i := range streams {
			stream := uint32(2*i + 1)
			if err := c.request(stream, watch, proof); err != nil {
				return err
			}
			if err := c.send(stream, make([]byte, 5)); err != nil { // an empty message
				return err
			}
		}
		for range size / len(message) {
			for i := range streams {
				if err := c.send(uint32(2*i+1), message); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// headers returns an attack that opens streams, each with so many header fields. A field takes one
// byte on the wire and many in the server. The client's window has no room for answers, so the server
// cannot finish a stream and forget its headers.
func headers(to place, streams, fields int) func(context.Context, net.Conn) error {
	const (
		remember = "\x40\x01a\x01b" // a: b, with a place in the table
		again    = 62 | 0x80        // the youngest entry of the table
	)
	more := append([]byte(remember), bytes.Repeat([]byte{again}, fields-1)...)
	return func(ctx context.Context, conn net.Conn) error {
		c, err := greet(ctx, conn, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		if err != nil {
			return err
		}
		for i := range streams {
			if err := c.request(uint32(2*i+1), to, more); err != nil {
				return err
			}
		}
		return nil
	}
}

// partial returns an attack that opens streams, and sends on each all of a message but its last byte.
func partial(to place, streams, size int, more []byte) func(context.Context, net.Conn) error {
	message := make([]byte, 5+size-1)
	binary.BigEndian.PutUint32(message[1:], uint32(size))
	return func(ctx context.Context, conn net.Conn) error {
		c, err := greet(ctx, conn)
		if err != nil {
			return err
		}
		for i := range streams {
			stream := uint32(2*i + 1)
			if err := c.request(stream, to, more); err != nil {
				return err
			}
			if err := c.send(stream, message); err != nil {
				return err
			}
		}
		return nil
	}
}

func idle(ctx context.Context, conn net.Conn) error {
	_, err := greet(ctx, conn)
	return err
}

func idleHTTP1(context.Context, net.Conn) error { return nil }

const (
	trickle = 250 * time.Millisecond
	// trickled bounds the bytes of a slow attack: a minute of them.
	trickled = 240
)

// drip writes single bytes, one each trickle, until trickled of them are written.
func drip(ctx context.Context, write func([]byte) error) error {
	tick := time.NewTicker(trickle)
	defer tick.Stop()
	for range trickled {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := write([]byte{'x'}); err != nil {
			return err
		}
	}
	return nil
}

// slowHeaders begins a large frame of headers and sends the rest byte by byte.
func slowHeaders(ctx context.Context, conn net.Conn) error {
	if _, err := greet(ctx, conn); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "\x00\x3f\xff\x01\x00\x00\x00\x00\x01"); err != nil {
		return err
	}
	return drip(ctx, func(b []byte) error {
		_, err := conn.Write(b)
		return err
	})
}

func slowHeadersHTTP1(ctx context.Context, conn net.Conn) error {
	if _, err := io.WriteString(conn, "GET /v1/node HTTP/1.1\r\nHost: "); err != nil {
		return err
	}
	return drip(ctx, func(b []byte) error {
		_, err := conn.Write(b)
		return err
	})
}

func slowBodyHTTP1(ctx context.Context, conn net.Conn) error {
	if _, err := fmt.Fprintf(conn, "POST /v1/manifests HTTP/1.1\r\nHost: node\r\nContent-Length: %d\r\n\r\n", 4<<20); err != nil {
		return err
	}
	return drip(ctx, func(b []byte) error {
		_, err := conn.Write(b)
		return err
	})
}

func slowBody(ctx context.Context, conn net.Conn) error {
	c, err := greet(ctx, conn)
	if err != nil {
		return err
	}
	if err := c.request(1, rest, nil); err != nil {
		return err
	}
	return drip(ctx, func(b []byte) error { return c.send(1, b) })
}
