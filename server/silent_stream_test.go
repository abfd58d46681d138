package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"nodal/node"
	"nodal/server/wire"
)

// A deadline that passes while nothing is written ends a stream of HTTP/2.
func TestAStreamOutlivesASilence(t *testing.T) {
	for _, path := range []string{kubeletLogs + "?follow=true", logsPath + "?follow=true", "/v1/pods:watch"} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t)
				n.apply(t, manifestOf("web"))
				n.run(t, "web", node.ContainerRunning)
				n.logs.read = func(ctx context.Context, _ node.LogOptions, sink node.LogSink) error {
					select {
					case <-time.After(2 * wire.WriteTimeout):
					case <-ctx.Done():
						return ctx.Err()
					}
					if _, err := io.WriteString(sink, "at last\n"); err != nil {
						return err
					}
					return sink.Flush()
				}
				time.AfterFunc(3*wire.WriteTimeout, n.server.Stop) // a watch ends with an error
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://node"+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				response, err := serveHTTP2(t, n.server.HTTP()).Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				if text, err := io.ReadAll(response.Body); err != nil || len(text) == 0 {
					t.Errorf("got %q, %v, want the whole stream", text, err)
				}
			})
		})
	}
}

// serveHTTP2 returns a client of a handler, over a connection within the process.
func serveHTTP2(t *testing.T, handler http.Handler) *http.Client {
	t.Helper()
	http2 := &http.Protocols{}
	http2.SetUnencryptedHTTP2(true)
	there, here := net.Pipe()
	l := &oneConn{conns: make(chan net.Conn, 1)}
	l.conns <- there
	server := &http.Server{Handler: handler, Protocols: http2}
	go server.Serve(l)
	transport := &http.Transport{
		Protocols:   http2,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return here, nil },
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return &http.Client{Transport: transport}
}

// oneConn is a listener that accepts one connection.
type oneConn struct{ conns chan net.Conn }

func (l *oneConn) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *oneConn) Close() error {
	close(l.conns)
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.IPAddr{} }
