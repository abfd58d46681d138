package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nodal/node"
	"nodal/server/wire"
)

// The deadline also holds for what net/http writes after the handler: a client that stops
// reading there holds its connection no longer than one that stops in the middle.
func TestAClientThatDoesNotReadTheEndIsGivenUp(t *testing.T) {
	for _, path := range []string{kubeletLogs, logsPath} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t)
				n.apply(t, manifestOf("web"))
				n.run(t, "web", node.ContainerRunning)
				n.logs.read = func(_ context.Context, _ node.LogOptions, sink node.LogSink) error {
					_, err := io.WriteString(sink, "the last line\n")
					return errors.Join(err, sink.Flush())
				}
				there, here := net.Pipe() // a pipe has no buffer
				defer here.Close()
				l := &oneConn{conns: make(chan net.Conn, 1)}
				l.conns <- there
				server := &http.Server{Handler: n.server.HTTP()}
				go server.Serve(l)
				defer server.Close()
				if _, err := io.WriteString(here, "GET "+path+" HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				client := bufio.NewReader(here)
				for line := ""; !strings.HasPrefix(line, "the last line"); {
					var err error
					if line, err = client.ReadString('\n'); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(2 * wire.WriteTimeout)
				if rest, err := io.ReadAll(client); err != nil || strings.Contains(string(rest), "0\r\n") {
					t.Errorf("the end still waited for its reader: %q, %v", rest, err)
				}
			})
		})
	}
}
