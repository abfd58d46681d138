package wire

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// oneConn is a listener that accepts one connection.
type oneConn chan net.Conn

func (l oneConn) Accept() (net.Conn, error) {
	if conn, ok := <-l; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}
func (l oneConn) Close() error   { return nil }
func (l oneConn) Addr() net.Addr { return &net.UnixAddr{} }

func TestALargeAnswerWaitsForASlowClientAndNotForASilentOne(t *testing.T) {
	for name, c := range map[string]struct {
		pause  time.Duration
		pieces int
	}{"slow": {WriteTimeout / 2, 4}, "silent": {2 * WriteTimeout, 4}, "too slow": {WriteTimeout * 3 / 4, 16}} {
		body := bytes.Repeat([]byte("0123456789abcdef"), c.pieces*mostWrite/16)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				there, here := net.Pipe() // a pipe has no buffer
				defer here.Close()
				conns, written := make(oneConn, 1), make(chan error, 1)
				conns <- there
				close(conns)
				server := &http.Server{Handler: Prompt(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, err := w.Write(body)
					written <- err
				}))}
				go server.Serve(conns)
				defer server.Close()
				if _, err := io.WriteString(here, "GET / HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				got, begun := int64(0), time.Now()
				for err := error(nil); err == nil; {
					time.Sleep(c.pause)
					var n int64
					n, err = io.CopyN(io.Discard, here, mostWrite)
					got += n
				}
				if err := <-written; (err == nil) != (name == "slow") || (got > int64(len(body))) != (name == "slow") {
					t.Errorf("the write ended with %v after %d bytes", err, got)
				}
				if took := time.Since(begun); took > mostAnswer+c.pause {
					t.Errorf("the client had %s", took)
				}
			})
		})
	}
}
