package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	grpccreds "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"nodal/server/method"
)

// door is one way for a caller to make requests.
type door struct {
	name     string
	listener string // in the words of testdata/routes.txt
	open     bool   // asks for no credential
	rpc      bool   // speaks gRPC
	ask      func(*testing.T, trial) outcome
}

// takes reports whether a line is asked for here. Verbs that are not served are, by one door of each server.
func (d door) takes(line declared) bool {
	return d.rpc == (line.verb == "gRPC") && (line.right != "" || d.name != "HTTP/2")
}

const patience = 10 * time.Second

// doors returns the ways that are open to a caller.
func (w *world) doors(t *testing.T, c caller) []door {
	t.Helper()
	dialed := func(context.Context, string, string) (net.Conn, error) { return c.dial() }
	switch {
	case c.onPlain:
		return []door{
			{name: "the read-only port", listener: "read-only", open: true, ask: c.byHTTP(t, "http://"+w.readOnly, &http.Transport{})},
			{name: "the health port", listener: "health", open: true, ask: c.byHTTP(t, "http://"+w.health, &http.Transport{})},
		}
	case c.dial != nil:
		return []door{
			{name: "HTTP on the socket", listener: "full", ask: c.byHTTP(t, "http://node", &http.Transport{DialContext: dialed})},
			{name: "gRPC on the socket", listener: "full", rpc: true,
				ask: c.byGRPC(t, "passthrough:///node", insecure.NewCredentials(), func(context.Context, string) (net.Conn, error) { return c.dial() })},
		}
	}
	settings := func(protocols ...string) *tls.Config {
		s := &tls.Config{RootCAs: w.roots, NextProtos: protocols}
		if c.cert != nil {
			s.Certificates = []tls.Certificate{*c.cert}
		}
		return s
	}
	all := []door{
		{name: "HTTP/1.1", listener: "full", ask: c.byHTTP(t, "https://"+w.secure, &http.Transport{TLSClientConfig: settings()})},
		{name: "HTTP/2", listener: "full", ask: c.byHTTP(t, "https://"+w.secure, &http.Transport{TLSClientConfig: settings(), ForceAttemptHTTP2: true})},
	}
	if c.cookie != nil {
		return all
	}
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	return append(all,
		door{name: "gRPC", listener: "full", rpc: true, ask: c.byGRPC(t, "passthrough:///"+w.secure, grpccreds.NewTLS(settings()), dial)},
		door{name: "gRPC through net/http", listener: "full", rpc: true,
			ask: c.byGRPC(t, "passthrough:///"+w.secure, grpccreds.NewTLS(settings("h2", "http/1.1")), dial)},
	)
}

// byHTTP asks over HTTP. It leaves a watch, which has no end.
func (c caller) byHTTP(t *testing.T, base string, transport *http.Transport) func(*testing.T, trial) outcome {
	t.Cleanup(transport.CloseIdleConnections)
	return func(t *testing.T, r trial) outcome {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		verb := strings.ReplaceAll(r.verb, "*", "GET")
		asked, err := http.NewRequestWithContext(ctx, verb, base+r.target(), strings.NewReader(r.body()))
		if err != nil {
			t.Fatal(err)
		}
		if c.bearer != "" {
			asked.Header.Set("Authorization", "Bearer "+c.bearer)
		}
		if c.cookie != nil {
			asked.AddCookie(c.cookie)
			asked.Header.Set("Origin", base)
		}
		if verb == "GET" && r.right == "exec" && !transport.ForceAttemptHTTP2 {
			asked.Header.Set("Connection", "Upgrade")
			asked.Header.Set("Upgrade", "websocket")
		}
		got, err := transport.RoundTrip(asked)
		if err != nil {
			t.Fatalf("%s %s: %v", verb, r.target(), err)
		}
		defer got.Body.Close()
		if wants2 := transport.ForceAttemptHTTP2; wants2 != (got.ProtoMajor == 2) {
			t.Fatalf("%s %s: the answer is %s", verb, r.target(), got.Proto)
		}
		var text []byte
		if watched := r.stream && got.StatusCode == http.StatusOK; !watched {
			text, _ = io.ReadAll(got.Body) // an upgraded connection has no end to speak of
		}
		return outcome{code: got.StatusCode, text: string(text)}
	}
}

// body returns what the request sends. A manifest has to be one, since the method itself judges it.
func (r trial) body() string {
	switch {
	case r.scope == "manifests":
		return inNamespace(r.namespace, "web")
	case r.verb == "GET" || r.verb == "*" || r.verb == "DELETE":
		return ""
	}
	return "{}"
}

// byGRPC asks by a call. Of a stream it takes the first message.
func (c caller) byGRPC(
	t *testing.T, target string, creds grpccreds.TransportCredentials, dial func(context.Context, string) (net.Conn, error),
) func(*testing.T, trial) outcome {
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(creds), grpc.WithContextDialer(dial))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return func(t *testing.T, r trial) outcome {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if c.bearer != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.bearer)
		}
		err := r.call(ctx, t, conn)
		return outcome{rpc: status.Code(err).String(), text: status.Convert(err).Message()}
	}
}

func (r trial) call(ctx context.Context, t *testing.T, conn *grpc.ClientConn) error {
	m := method.Method{Name: r.method}
	message := request(t, m, map[string]any{
		"namespace": r.namespace, "name": "web", "kind": "configmaps", "container": "main", "manifest": inNamespace(r.namespace, "web"),
	})
	if !r.stream {
		return conn.Invoke(ctx, r.method, message, answerTo(m), grpc.WaitForReady(true))
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, r.method, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	if err := stream.SendMsg(message); err != nil && !errors.Is(err, io.EOF) { // then RecvMsg has the reason
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if err := stream.RecvMsg(answerTo(m)); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
