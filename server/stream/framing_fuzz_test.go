package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"nodal/node"
)

// maxConverseMemory bounds what a conversation of a few KiB may take. A frame of SPDY may announce 16 MiB, for which the
// library makes room at once.
const maxConverseMemory = 24 << 20

// oneConn is a listener of one connection.
type oneConn struct {
	net.Conn
	once sync.Once
	done chan struct{}
}

func (l *oneConn) Accept() (c net.Conn, err error) {
	err = net.ErrClosed
	l.once.Do(func() { c, err = l.Conn, nil })
	if err != nil {
		<-l.done
	}
	return c, err
}

func (l *oneConn) Addr() net.Addr { return l.LocalAddr() }
func (l *oneConn) Close() error   { close(l.done); return nil }

// converse sends all that a client says, hangs up, and returns when the handler has.
func converse(handler http.HandlerFunc, head string, said []byte) {
	client, conn := net.Pipe()
	served := make(chan struct{})
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(served)
		handler(w, r)
	})}
	go func() { _ = server.Serve(&oneConn{Conn: conn, done: make(chan struct{})}) }()
	go func() { _, _ = io.Copy(io.Discard, client) }()
	_, _ = io.WriteString(client, head)
	_, _ = client.Write(said) // the server may have hung up
	client.Close()
	<-served
	server.Close()
}

// within fails the test if f takes more memory than a conversation may.
func within(t *testing.T, said []byte, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > maxConverseMemory+8*uint64(len(said)) {
		t.Errorf("a client that says %d bytes takes %d bytes of memory", len(said), took)
	}
}

// headOf is the request that opens a WebSocket for a protocol, or SPDY.
func headOf(upgrade, protocol string) string {
	lines := []string{"GET / HTTP/1.1", "Host: node", "Connection: Upgrade", "Upgrade: " + upgrade}
	if upgrade == "websocket" {
		lines = append(lines, "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
			"Origin: http://node")
		if protocol != "" {
			lines = append(lines, "Sec-WebSocket-Protocol: "+protocol)
		}
	} else {
		lines = append(lines, "X-Stream-Protocol-Version: "+protocol)
	}
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// frame is a frame of a WebSocket as a client sends it, masked with zeros.
func frame(first byte, payload []byte) []byte {
	f := []byte{first, 0x80 | 126}
	f = binary.BigEndian.AppendUint16(f, uint16(len(payload)))
	return append(append(f, 0, 0, 0, 0), payload...)
}

// FuzzWebSocket holds that a command gets the input that its client sends in sound frames, whatever follows them, and
// that it ends with its client.
func FuzzWebSocket(f *testing.F) {
	f.Add(uint8(0), []byte("hello"), []byte(nil))
	f.Add(uint8(1), []byte("a"), frame(0x82, []byte("\x04{\"Width\":80,\"Height\":24}")))
	f.Add(uint8(0), []byte("a"), frame(0x82, []byte("\xff\x00")))
	f.Add(uint8(1), []byte(""), frame(0x02, []byte("\x00part")))
	f.Add(uint8(2), []byte("aGk="), []byte("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00"))
	f.Add(uint8(3), []byte(""), append(frame(0x89, []byte("ping")), frame(0x88, []byte("\x03\xe8bye"))...))
	f.Add(uint8(4), []byte("x"), []byte("\xc2\x00\x00"))
	protocols := []string{binaryV5, binaryV4, "channel.k8s.io", "", base64V4, "none.k8s.io"}
	f.Fuzz(func(t *testing.T, which uint8, input, rest []byte) {
		if len(input)+len(rest) > 32<<10 {
			return
		}
		protocol := protocols[int(which)%len(protocols)]
		var got []byte
		said := append(frame(0x82, append([]byte{remotecommand.StreamStdIn}, input...)), rest...)
		within(t, said, func() {
			synctest.Test(t, func(*testing.T) { // it fails if a goroutine is left
				converse(func(w http.ResponseWriter, r *http.Request) {
					echo := func(_ context.Context, s node.Streams) (exit int32, err error) {
						got, err = io.ReadAll(s.Stdin)
						_, _ = s.Stdout.Write(got)
						return 0, err
					}
					Serve(w, r, Wanted{Stdin: true, Stdout: true, Stderr: true}, time.Hour, echo)
				}, headOf("websocket", protocol), said)
			})
		})
		if int(which)%len(protocols) < 4 && !bytes.HasPrefix(got, input) {
			t.Errorf("protocol %q: the command got %q, want it to begin with %q", protocol, got, input)
		}
		if len(got) > len(said) {
			t.Errorf("protocol %q: the command got %d bytes of %d", protocol, len(got), len(said))
		}
	})
}
