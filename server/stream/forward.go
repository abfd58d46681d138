package stream

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/websocket"
	client "k8s.io/client-go/tools/portforward"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	framing "k8s.io/streaming/pkg/httpstream/spdy"
)

// Forwarder connects a client with a port until either closes the connection.
type Forwarder func(ctx context.Context, port int32, client io.ReadWriter) error

// Forward upgrades the request and forwards every connection that the client opens on it. All
// of them end when the client goes away, when the context of the request ends, or when the connection carries nothing
// for the time idle; zero means no limit.
func Forward(w http.ResponseWriter, r *http.Request, idle time.Duration, forward Forwarder) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if slices.Contains(websocket.Subprotocols(r), portforward.WebsocketsSPDYTunnelingPortForwardV1) {
		tunnel, err := openTunnel(w, r)
		if err != nil {
			slog.DebugContext(ctx, "cannot upgrade to WebSocket", "path", r.URL.Path, "err", err) // the client got the error
			return
		}
		defer tunnel.Close()
		w, r = tunnelled{tunnel}, asSPDY(r)
	}
	w = bounded{w, ctx}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	one := func(port int32, client io.ReadWriter) error { return forward(ctx, port, client) }
	portforward.ServePortForward(w, r, forwarder(one), "", "", options, idle,
		remotecommand.DefaultStreamCreationTimeout, portforward.SupportedProtocols)
}

// openTunnel accepts a WebSocket in which the client speaks SPDY.
func openTunnel(w http.ResponseWriter, r *http.Request) (net.Conn, error) {
	upgrader := websocket.Upgrader{Subprotocols: []string{portforward.WebsocketsSPDYTunnelingPortForwardV1}}
	connection, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return nil, err
	}
	return client.NewTunnelingConnection("server", connection), nil
}

// bounded is a response whose hijacked connection is closed with the context. The library waits for the client to do
// so, and would take further connections until then.
type bounded struct {
	http.ResponseWriter
	ctx context.Context
}

var _ http.Hijacker = bounded{}

func (b bounded) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(b.ResponseWriter).Hijack()
	if err == nil {
		context.AfterFunc(b.ctx, func() { conn.Close() })
	}
	return conn, buffered, err
}

// tunnelled is the response for the SPDY library, which upgrades the tunnel to SPDY.
type tunnelled struct{ net.Conn }

var _ http.Hijacker = tunnelled{}

func (tunnelled) Header() http.Header { return http.Header{} }

func (tunnelled) WriteHeader(int) {}

func (t tunnelled) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return t.Conn, bufio.NewReadWriter(bufio.NewReader(t.Conn), bufio.NewWriter(t.Conn)), nil
}

// asSPDY returns the request as a client without a tunnel would send it.
func asSPDY(r *http.Request) *http.Request {
	plain := r.Clone(r.Context())
	plain.Header = http.Header{}
	plain.Header.Set(httpstream.HeaderConnection, httpstream.HeaderUpgrade)
	plain.Header.Set(httpstream.HeaderUpgrade, framing.HeaderSpdy31)
	plain.Header.Set(httpstream.HeaderProtocolVersion, portforward.ProtocolV1Name)
	return plain
}

// forwarder adapts a Forwarder to the library, whose own context never ends.
type forwarder func(port int32, client io.ReadWriter) error

var _ portforward.PortForwarder = forwarder(nil)

func (f forwarder) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	return f(port, stream)
}
