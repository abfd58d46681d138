package cluster

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	controlplane "nodal/test/plane"
)

// proxy stands between a node and its API server, and can be made to fail.
type proxy struct {
	*httptest.Server
	*plane

	mu      sync.Mutex
	conns   []*line
	ill     bool
	answers int             // while the proxy fails
	expired map[string]bool // paths whose watches get 410 Gone; nil refuses none
}

// startProxy serves the API server at another address until the test ends.
func (p *plane) startProxy() *proxy {
	p.t.Helper()
	x := &proxy{plane: p}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "https", Host: fmt.Sprintf("127.0.0.1:%d", p.Ports.Secure)})
		},
		Transport: p.client.Transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	x.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code, reason := x.verdict(r); code != 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": %q, "code": %d}`, reason, code)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	x.Listener = &lines{x.Listener, x}
	x.EnableHTTP2, x.Config.ErrorLog = true, log.New(io.Discard, "", 0)
	x.StartTLS()
	p.t.Cleanup(func() {
		x.CloseClientConnections()
		x.Close()
	})
	return x
}

// verdict returns the proxy's own answer, or zero if the API server is to answer.
func (x *proxy) verdict(r *http.Request) (code int, reason string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	watch := r.URL.Query().Get("watch") != ""
	switch {
	case x.ill:
		x.answers++
		if x.answers%2 == 0 {
			return http.StatusTooManyRequests, "TooManyRequests"
		}
		return http.StatusInternalServerError, "InternalError"
	case watch && x.expired != nil && !x.expired[r.URL.Path]:
		x.expired[r.URL.Path] = true
		return http.StatusGone, "Expired"
	}
	return 0, ""
}

// fallIll answers every request with an error from now on.
func (x *proxy) fallIll() {
	x.mu.Lock()
	x.ill = true
	x.mu.Unlock()
	x.CloseClientConnections()
}

// recover answers again, but tells watches to list first.
func (x *proxy) recover() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ill, x.expired = false, map[string]bool{}
}

// fallSilent keeps all connections open without sending any more data.
func (x *proxy) fallSilent() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.conns {
		c.silent.Store(true)
	}
}

// way returns a kubeconfig that leads through the proxy.
func (x *proxy) way(user controlplane.User) string {
	x.plane.t.Helper()
	return x.leadTo(x.URL, x.Certificate().Raw, user)
}

// leadTo writes a kubeconfig for a user, with an address and the authority of its certificate.
func (p *plane) leadTo(url string, authority []byte, user controlplane.User) string {
	p.t.Helper()
	dir := p.t.TempDir()
	ca, path := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "kubeconfig")
	must(p.t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority}), 0o600))
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority: %s}}]
users: [{name: u, user: {token: %s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, url, ca, p.Token(user))
	must(p.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// lines accepts connections that can fall silent.
type lines struct {
	net.Listener
	x *proxy
}

func (l *lines) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &line{Conn: conn}
	l.x.mu.Lock()
	defer l.x.mu.Unlock()
	l.x.conns = append(l.x.conns, c)
	return c, nil
}

// line is a connection that discards its output once it is silent.
type line struct {
	net.Conn
	silent atomic.Bool
}

func (c *line) Write(text []byte) (int, error) {
	if c.silent.Load() {
		return len(text), nil
	}
	return c.Conn.Write(text)
}

var _ net.Listener = (*lines)(nil)

// elsewhere makes apisync reach the node over TLS, as an admin, from its next start on.
func (w *world) elsewhere() {
	credential := func(name string) string { return filepath.Join(w.node.Dir, name) }
	args := w.sync.Args[:len(w.sync.Args)-2] // all flags but the socket
	w.sync.Args = append(args, "--node-server", fmt.Sprintf("127.0.0.1:%d", w.node.Port), "--node-cafile", credential("pki/ca.crt"),
		"--node-certfile", credential("credentials/admin.crt"), "--node-keyfile", credential("credentials/admin.key"))
}

// distrusts checks an apisync that trusts the wrong authority: it logs the error and changes
// nothing on the node.
func (w *world) distrusts() {
	w.t.Helper()
	other, err := controlplane.NewAuthority()
	must(w.t, err)
	way := w.leadTo(fmt.Sprintf("https://127.0.0.1:%d", w.Ports.Secure), other.Cert.Raw, controlplane.Node)
	stranger := start(w.t, apisync, "--kubeconfig", way, "--socket", w.node.Socket)
	w.eventually("a word about the authority", func() bool {
		return strings.Contains(stranger.LogTail(), "cannot register the node yet") && strings.Contains(stranger.LogTail(), "unknown authority")
	})
	stranger.end()
}
