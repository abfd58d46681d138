package listen

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// running is a Front on a TLS address and a socket.
type running struct {
	front     *Front
	tls, unix string
	client    *tls.Config
	stop      func() error // ends Serve and returns its error
}

type connKey struct{}

// peerInfo describes a plain connection to gRPC.
type peerInfo struct{ network string }

func (peerInfo) AuthType() string { return "test" }

// reporting says in the header how a call came in.
type reporting struct{ healthpb.HealthServer }

func (r reporting) Check(ctx context.Context, in *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	p, _ := peer.FromContext(ctx)
	transport := "native"
	if ctx.Value(http.ServerContextKey) != nil {
		transport = "net/http"
	}
	via := fmt.Sprintf("%T", p.AuthInfo)
	if info, ok := p.AuthInfo.(peerInfo); ok {
		via = info.network
	}
	grpc.SetHeader(ctx, metadata.Pairs("via", via, "transport", transport))
	return r.HealthServer.Check(ctx, in)
}

// goodToken proves an identity. It is as long as tokens get.
var goodToken = "Bearer " + strings.Repeat("x", 12<<10)

// knows knows callers by the token, and those of the socket.
func knows(r *http.Request) (caller string, known bool) {
	return "friend", r.Header.Get("Authorization") == goodToken || r.Context().Value(connKey{}) == "*net.UnixConn"
}

// guard refuses calls of callers that are not known.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, known := knows(r); known {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", "16")
	})
}

// bearer sends the good token with each call.
type bearer struct{}

func (bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": goodToken}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

func start(t testing.TB, handler http.Handler, grace time.Duration) *running {
	t.Helper()
	server := grpc.NewServer(GRPCOptions(func(c net.Conn) credentials.AuthInfo { return peerInfo{c.LocalAddr().Network()} })...)
	healthpb.RegisterHealthServer(server, reporting{health.NewServer()})
	front := New(Config{
		HTTP: handler, GRPC: server, Fallback: guard(server), Knows: knows, Grace: grace,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, fmt.Sprintf("%T", c))
		},
	})
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run", "node.sock")
	socket, err := Unix(path)
	if err != nil {
		t.Fatal(err)
	}
	serverTLS, clientTLS := certificates(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- front.Serve(ctx, Source{tcp, serverTLS}, Source{socket, nil}) }()
	r := &running{front: front, tls: tcp.Addr().String(), unix: path, client: clientTLS}
	r.stop = func() error {
		cancel()
		err := <-served
		served <- err
		return err
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return r
}

func certificates(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "test"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
			NextProtos:   []string{"h2", "http/1.1"},
		},
		&tls.Config{RootCAs: roots}
}

func (r *running) httpClient(t *testing.T, network string, protocols ...string) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: r.client.Clone(), Protocols: new(http.Protocols)}
	for _, p := range protocols {
		switch p {
		case "h2":
			transport.Protocols.SetHTTP2(true)
		case "http/1.1":
			transport.Protocols.SetHTTP1(true)
		}
	}
	if network == "unix" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", r.unix)
		}
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

func (r *running) grpcClient(t testing.TB, network string) *grpc.ClientConn {
	t.Helper()
	target, creds := "passthrough:"+r.tls, credentials.NewTLS(r.client.Clone())
	if network == "unix" {
		target, creds = "unix:"+r.unix, insecure.NewCredentials()
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(creds), grpc.WithPerRPCCredentials(bearer{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// echo answers how a request came in.
func echo(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s tls=%v over %v", r.Proto, r.TLS != nil, r.Context().Value(connKey{}))
}

func TestHTTPReachesTheHandler(t *testing.T) {
	r := start(t, http.HandlerFunc(echo), 0)
	cases := []struct {
		name, network, url string
		protocols          []string
		want               string
	}{
		{"a client of both over TLS speaks h2", "tcp", "https://" + r.tls, []string{"h2", "http/1.1"}, "HTTP/2.0 tls=true over *net.TCPConn"},
		{"a client of HTTP/1 over TLS", "tcp", "https://" + r.tls, []string{"http/1.1"}, "HTTP/1.1 tls=true over *net.TCPConn"},
		{"a client of the socket", "unix", "http://localhost", []string{"http/1.1"}, "HTTP/1.1 tls=false over *net.UnixConn"},
		{"plain HTTP on the TLS port is told so", "tcp", "http://" + r.tls, []string{"http/1.1"}, "Client sent an HTTP request to an HTTPS server.\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			resp, err := r.httpClient(t, c.network, c.protocols...).Get(c.url)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err != nil || string(got) != c.want {
				t.Errorf("got %q %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestGRPCTakesItsOwnTransport(t *testing.T) {
	r := start(t, http.NotFoundHandler(), 0)
	for network, want := range map[string]string{"tcp": "credentials.TLSInfo", "unix": "unix"} {
		t.Run(network, func(t *testing.T) {
			var header metadata.MD
			_, err := healthpb.NewHealthClient(r.grpcClient(t, network)).Check(t.Context(), &healthpb.HealthCheckRequest{}, grpc.Header(&header))
			if err != nil {
				t.Fatal(err)
			}
			if got := header.Get("via")[0]; got != want {
				t.Errorf("the peer is known as %s, want %s", got, want)
			}
			if got := header.Get("transport")[0]; got != "native" {
				t.Errorf("came by %s, want the native transport", got)
			}
		})
	}
}

func TestGRPCTellsHowManyCallsAConnectionHolds(t *testing.T) {
	r := start(t, http.NotFoundHandler(), 0)
	conn, err := net.Dial("unix", r.unix)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const noSettings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+noSettings); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, len(noSettings))
	if _, err := io.ReadFull(conn, head); err != nil || head[3] != 4 {
		t.Fatalf("got a frame %x, %v, want the settings", head, err)
	}
	settings := make([]byte, int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(conn, settings); err != nil {
		t.Fatal(err)
	}
	const maxConcurrentStreams = 3
	var got uint32
	for one := range slices.Chunk(settings, 6) {
		if binary.BigEndian.Uint16(one) == maxConcurrentStreams {
			got = binary.BigEndian.Uint32(one[2:])
		}
	}
	if got != maxCalls {
		t.Errorf("got %d, want %d", got, maxCalls)
	}
}

func TestGRPCOfAClientThatOffersBothFallsBack(t *testing.T) {
	r := start(t, http.NotFoundHandler(), 0)
	req, err := http.NewRequest("POST", "https://"+r.tls+"/grpc.health.v1.Health/Check", bytes.NewReader(make([]byte, 5)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/grpc+proto")
	req.Header.Set("TE", "trailers")
	req.Header.Set("Authorization", goodToken)
	resp, err := r.httpClient(t, "tcp", "h2", "http/1.1").Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	if got := resp.Trailer.Get("Grpc-Status"); got != "0" {
		t.Errorf("got status %q, want 0", got)
	}
	if got := resp.Header.Get("Transport"); got != "net/http" {
		t.Errorf("came by %q, want net/http", got)
	}
	if got := resp.Header.Get("Via"); got != "credentials.TLSInfo" {
		t.Errorf("the peer is known as %q", got)
	}
}

func TestContentTypesOfGRPC(t *testing.T) {
	for contentType, want := range map[string]bool{
		"application/grpc": true, "application/grpc+proto": true, "application/grpc;x=y": true,
		"application/grpc-web": false, "application/json": false, "": false,
	} {
		if got := isGRPC(contentType); got != want {
			t.Errorf("%q: got %v, want %v", contentType, got, want)
		}
	}
}

func TestShutdownLetsRequestsFinish(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-finish
		io.WriteString(w, "done")
	}), time.Minute)
	answer := make(chan string, 1)
	client := r.httpClient(t, "tcp", "h2", "http/1.1")
	go func() {
		resp, err := client.Get("https://" + r.tls)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		answer <- string(body)
	}()
	<-begun
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	// The listener is gone before the request is answered.
	for {
		conn, err := net.Dial("tcp", r.tls)
		if err != nil {
			break
		}
		conn.Close()
	}
	close(finish)
	if got := <-answer; got != "done" {
		t.Errorf("got %q, want done", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestShutdownCutsWhatDoesNotEnd(t *testing.T) {
	ended := make(chan struct{})
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(ended)
	}), 50*time.Millisecond)
	resp, err := r.httpClient(t, "unix", "http/1.1").Get("http://localhost")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	watch, err := healthpb.NewHealthClient(r.grpcClient(t, "tcp")).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	<-ended
	if _, err := watch.Recv(); err == nil {
		t.Error("the watch goes on")
	}
}

func TestServeFailsWhenAListenerIsTakenAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	f := New(Config{HTTP: http.NotFoundHandler(), GRPC: grpc.NewServer()})
	if err := f.Serve(t.Context(), Source{Listener: l}); err == nil || !strings.Contains(err.Error(), "accept on") {
		t.Errorf("got %v, want an error that names the listener", err)
	}
}
