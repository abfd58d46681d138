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
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// Forwarder connects a client with a port until either closes the connection.
type Forwarder func(ctx context.Context, port int32, client io.ReadWriter) error

// Forward upgrades the request and forwards every connection that the client opens on it. All
// of them end when the client goes away, when the context of the request ends, or when the connection carries nothing
// for the time idle; zero means no limit.
func Forward(w http.ResponseWriter, r *http.Request, idle time.Duration, forward Forwarder) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	end := &farewell{ctx: ctx}
	if slices.Contains(websocket.Subprotocols(r), portforward.WebsocketsSPDYTunnelingPortForwardV1) {
		tunnel, err := openTunnel(w, r)
		if err != nil {
			slog.DebugContext(ctx, "cannot upgrade to WebSocket", "path", r.URL.Path, "err", err) // the client got the error
			return
		}
		defer tunnel.Close()
		w, r, end.around = tunnelled{tunnel}, asSPDY(r), func() webSocket { return tunnel }
	} else if wsstream.IsWebSocketRequest(r) {
		ws := &closing{ResponseWriter: w}
		w, end.around = ws, func() webSocket { return ws.frames }
	}
	w = bounded{w, end}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	one := func(port int32, client io.ReadWriter) error {
		err := forward(ctx, port, client)
		if why := revoked(ctx); why != nil {
			end.because(why) // before the library, which may close the WebSocket next
			err = why
		}
		return err
	}
	portforward.ServePortForward(w, r, forwarder(one), "", "", options, idle,
		remotecommand.DefaultStreamCreationTimeout, portforward.SupportedProtocols)
}

// openTunnel accepts a WebSocket in which the client speaks SPDY.
func openTunnel(w http.ResponseWriter, r *http.Request) (*tunnel, error) {
	upgrader := websocket.Upgrader{Subprotocols: []string{portforward.WebsocketsSPDYTunnelingPortForwardV1}}
	connection, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return nil, err
	}
	return &tunnel{client.NewTunnelingConnection("server", connection), connection}, nil
}

// tunnel is a WebSocket in which the client speaks SPDY.
type tunnel struct {
	net.Conn
	ws *websocket.Conn
}

// because does nothing: SPDY does not close the WebSocket.
func (t *tunnel) because(string) {}

// closeWith says why the connection ends.
func (t *tunnel) closeWith(why string) {
	message := websocket.FormatCloseMessage(policyViolation, why[:min(len(why), maxReason)])
	_ = t.ws.WriteControl(websocket.CloseMessage, message, time.Now().Add(lastWords)) // a client that is gone needs no reason
}

// farewell ends a connection with its context. If the caller may no longer have it, each forwarded connection says so
// first, and then the WebSocket around them.
type farewell struct {
	ctx    context.Context
	around func() webSocket // nil without one
}

// webSocket is one that can say why it is closed.
type webSocket interface {
	because(why string) // if the library closes it
	closeWith(why string)
}

var _, _ webSocket = (*frames)(nil), (*tunnel)(nil)

func (f *farewell) because(why error) {
	if f.around != nil {
		f.around().because(why.Error())
	}
}

func (f *farewell) end(conn net.Conn) {
	defer conn.Close()
	why := revoked(f.ctx)
	if why == nil {
		return
	}
	f.because(why)
	time.Sleep(lastWords / 10) // the library sends the error of each connection after its Forwarder has returned
	if f.around != nil {
		f.around().closeWith(why.Error())
		time.Sleep(lastWords / 10) // what the client has sent meanwhile would discard the reason
	}
}

// bounded is a response whose hijacked connection is closed with the context. The library waits for the client to do
// so, and would take further connections until then.
type bounded struct {
	http.ResponseWriter
	end *farewell
}

var _ http.Hijacker = bounded{}

func (b bounded) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(b.ResponseWriter).Hijack()
	if err == nil {
		context.AfterFunc(b.end.ctx, func() { b.end.end(conn) })
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
