package stream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/streaming/pkg/httpstream"

	"nodal/node"
)

var errTokenGone = fmt.Errorf("the token was revoked: %w", node.ErrDenied)

// revocable serves handler. What it returns revokes the credentials of all requests.
func revocable(t *testing.T, handler func(http.ResponseWriter, *http.Request)) (address string, revoke func()) {
	t.Helper()
	ctx, end := context.WithCancelCause(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
		handler(w, r.WithContext(inner))
	}))
	t.Cleanup(server.Close)
	return server.URL, func() { end(errTokenGone) }
}

// endless is a command that says hello and runs until it is ended.
func endless(ctx context.Context, s node.Streams) (int32, error) {
	fmt.Fprint(s.Stdout, "hello")
	<-ctx.Done()
	return 0, ctx.Err()
}

func execHandler(w http.ResponseWriter, r *http.Request) {
	Serve(w, r, Wanted{Stdin: true, Stdout: true}, time.Hour, endless)
}

func forwardHandler(w http.ResponseWriter, r *http.Request) {
	Forward(w, r, time.Hour, func(ctx context.Context, _ int32, client io.ReadWriter) error {
		fmt.Fprint(client, "hello")
		<-ctx.Done()
		return ctx.Err()
	})
}

func TestAWebSocketOfARevokedCallerIsClosedWithTheReason(t *testing.T) {
	for _, c := range []struct {
		name, protocol, query string
		handler               func(http.ResponseWriter, *http.Request)
		status                string // what the error channel says before
	}{
		{"a command", binaryV5, "", execHandler, `"reason":"Unauthorized"`},
		{"a command of an old client", "channel.k8s.io", "", execHandler, "the token was revoked"},
		{"a forwarded port", "v4.channel.k8s.io", "?port=80", forwardHandler, "the token was revoked"},
		{"a tunnel for forwarded ports", portforward.WebsocketsSPDYTunnelingPortForwardV1, "", forwardHandler, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			at, revoke := revocable(t, c.handler)
			dialer := websocket.Dialer{Subprotocols: []string{c.protocol}}
			conn, _, err := dialer.DialContext(t.Context(), strings.Replace(at, "http", "ws", 1)+"/"+c.query, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			var all bytes.Buffer
			begun := false
			for {
				if conn.SetReadDeadline(time.Now().Add(5*time.Second)) != nil || !begun && (c.status == "" || strings.Contains(all.String(), "hello")) {
					begun = true
					go func() { // a client that goes on sending still gets the reason
						for conn.WriteMessage(websocket.BinaryMessage, []byte("\x00more")) == nil {
						}
					}()
					revoke()
				}
				_, text, err := conn.ReadMessage()
				all.Write(text)
				if err == nil {
					continue
				}
				end, ok := err.(*websocket.CloseError)
				if !ok || end.Code != policyViolation || !strings.HasPrefix(end.Text, "the token was revoked") {
					t.Errorf("it ends with %v, want the close code 1008 and the reason", err)
				}
				break
			}
			if !strings.Contains(all.String(), c.status) {
				t.Errorf("got %q, want %s in it", all.String(), c.status)
			}
		})
	}
}

func TestOverSPDYACommandOfARevokedCallerSaysWhy(t *testing.T) {
	at, revoke := revocable(t, execHandler)
	address, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	executor, err := remotecommand.NewSPDYExecutor(&rest.Config{Host: at}, http.MethodPost, address)
	if err != nil {
		t.Fatal(err)
	}
	stdin, hold := io.Pipe()
	defer hold.Close()
	err = executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: stdin, Stdout: revokeOnWrite(revoke)})
	if err == nil || !strings.Contains(err.Error(), "the token was revoked") {
		t.Errorf("got %v, want the reason", err)
	}
}

type revokeOnWrite func()

func (r revokeOnWrite) Write(p []byte) (int, error) {
	r()
	return len(p), nil
}

func TestOverSPDYAForwardedPortOfARevokedCallerSaysWhy(t *testing.T) {
	for name, dial := range dialers {
		t.Run(name, func(t *testing.T) {
			at, revoke := revocable(t, forwardHandler)
			address, err := url.Parse(at)
			if err != nil {
				t.Fatal(err)
			}
			dialer, err := dial(&rest.Config{Host: at}, address)
			if err != nil {
				t.Fatal(err)
			}
			var connection httpstream.Connection
			if connection, _, err = dialer.Dial(portforward.ProtocolV1Name); err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			data, failures := pair(t, connection, 1)
			if _, err := io.ReadFull(data, make([]byte, len("hello"))); err != nil {
				t.Fatal(err)
			}
			revoke()
			said, err := io.ReadAll(failures)
			if !strings.Contains(string(said), "the token was revoked") {
				t.Errorf("got %q, %v, want the reason", said, err)
			}
		})
	}
}

// written collects what a connection sends.
type written struct {
	net.Conn
	bytes.Buffer
}

func (w *written) Write(p []byte) (int, error)      { return w.Buffer.Write(p) }
func (w *written) Read(p []byte) (int, error)       { return w.Buffer.Read(p) }
func (w *written) SetWriteDeadline(time.Time) error { return nil }

func TestTheLastFrameStandsBetweenFrames(t *testing.T) {
	short, long := append([]byte{0x82, 3}, "abc"...), append([]byte{0x82, 126, 0, 200}, make([]byte, 200)...)
	huge := append([]byte{0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0}, make([]byte, 1<<16)...)
	for _, frame := range [][]byte{short, long, huge} {
		for _, at := range []int{0, 1, 2, 3, len(frame) - 1, len(frame)} {
			var sent written
			f := &frames{Conn: &sent}
			for _, part := range [][]byte{[]byte("HTTP/1.1 101\r\n\r\n"), frame, frame[:at]} {
				if _, err := f.Write(part); err != nil {
					t.Fatal(err)
				}
			}
			f.closeWith("why")
			if _, err := f.Write(frame[at:]); at > 0 && at < len(frame) && err != nil {
				t.Fatal(err)
			}
			want := append([]byte("HTTP/1.1 101\r\n\r\n"), frame...)
			if at > 0 {
				want = append(want, frame...)
			}
			want = append(want, "\x88\x05\x03\xf0why"...)
			if !bytes.Equal(sent.Bytes(), want) {
				t.Errorf("a frame of %d bytes, ended after %d: sent %d bytes, want %d", len(frame), at, sent.Len(), len(want))
			}
			if _, err := f.Write(short); err == nil {
				t.Error("it sends more after the last frame")
			}
		}
	}
}
