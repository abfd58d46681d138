package server

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/listen"
)

// guarded returns a node that authenticates callers by token.
func guarded(t *testing.T) *node1 {
	return newNode(t, func(c *Config) { c.Front.Auth = newAuth(t, false) })
}

func TestARoleMayUseItsVerbsOnly(t *testing.T) {
	n := guarded(t)
	n.runtime.execSync = func(context.Context, string, []string, time.Duration) ([]byte, []byte, int32, error) {
		return nil, nil, 0, nil
	}
	if got := n.do(t, "POST", "/v1/manifests", manifestOf("web"), "Authorization", tokenOf(t, "admin")); got.status != 200 {
		t.Fatalf("admin: got %d %s", got.status, got.body)
	}
	n.run(t, "web", node.ContainerRunning)
	cases := []struct {
		role, method, path, body string
		want                     int
	}{
		{"viewer", "GET", "/v1/pods", "", 200},
		{"viewer", "GET", "/pods", "", 200},
		{"viewer", "GET", kubeletLogs, "", 200},
		{"viewer", "POST", "/v1/manifests:plan", manifestOf("web"), 403},
		{"viewer", "POST", "/v1/manifests", manifestOf("web"), 403},
		{"viewer", "DELETE", "/v1/namespaces/default/pods/web", "", 403},
		{"viewer", "POST", runPath, `{"command":["ls"]}`, 403},
		{"viewer", "POST", "/run/default/web/main?cmd=ls", "", 403},
		{"viewer", "GET", "/exec/default/web/main?command=ls&output=1", "", 403},
		{"operator", "POST", "/v1/manifests:plan", manifestOf("web"), 200},
		{"operator", "POST", "/v1/manifests", manifestOf("web"), 200},
		{"operator", "POST", runPath, `{"command":["ls"]}`, 200},
		{"operator", "POST", "/run/default/web/main?cmd=ls", "", 200},
	}
	for _, c := range cases {
		if got := n.do(t, c.method, c.path, c.body, "Authorization", tokenOf(t, c.role)); got.status != c.want {
			t.Errorf("%s: %s %s: got %d %s, want %d", c.role, c.method, c.path, got.status, got.body, c.want)
		}
	}
}

func TestUnauthenticatedCallersAreRefusedInTheFormOfThePath(t *testing.T) {
	n := guarded(t)
	const kubelet, api = "text/plain; charset=utf-8", "application/json"
	for _, c := range []struct {
		path, token string
		status      int
		kind, body  string
	}{
		{"/pods", "", 401, kubelet, "Unauthorized"},
		{"/pods", "Bearer wrong", 401, kubelet, "Unauthorized"},
		{"/v1/pods", "", 401, api, `{"code":16,"message":"Unauthorized"}` + "\n"},
		{"/v1/pods", "Bearer wrong", 401, api, `{"code":16,"message":"Unauthorized"}` + "\n"},
		{"/v1/pods:watch", "", 401, api, `{"code":16,"message":"Unauthorized"}` + "\n"},
		{"/v1/node/loglevel", tokenOf(t, "viewer"), 403, api, `{"code":7,"message":"\"viewer\" may not administer the node: that needs the role admin"}` + "\n"},
	} {
		got := n.do(t, "GET", c.path, "", "Authorization", c.token)
		if kind := got.header.Get("Content-Type"); got.status != c.status || kind != c.kind || got.body != c.body {
			t.Errorf("%s with %q: got %d %s %q, want %d %s %q", c.path, c.token, got.status, kind, got.body, c.status, c.kind, c.body)
		}
		if asked := got.header.Get("WWW-Authenticate"); (got.status == 401) != (asked == "Bearer") {
			t.Errorf("%s with %q: got %d asking for %q", c.path, c.token, got.status, asked)
		}
	}
}

func TestRightsHoldOverGRPC(t *testing.T) {
	n := guarded(t)
	client := nodev1.NewManifestsServiceClient(n.dial(t))
	request := &nodev1.ApplyRequest{Manifest: manifestOf("web")}
	if _, err := client.Apply(t.Context(), request); status.Code(err) != codes.Unauthenticated {
		t.Errorf("nobody: got %v, want Unauthenticated", err)
	}
	for role, want := range map[string]codes.Code{"viewer": codes.PermissionDenied, "operator": codes.OK} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", tokenOf(t, role))
		if _, err := client.Apply(ctx, request); status.Code(err) != want {
			t.Errorf("%s: got %v, want %s", role, err, want)
		}
		if _, err := client.Plan(ctx, &nodev1.PlanRequest{Manifest: request.Manifest}); status.Code(err) != want {
			t.Errorf("%s plans: got %v, want %s", role, err, want)
		}
	}
}

func TestOneSocketServesGRPCAndREST(t *testing.T) {
	n := newNode(t)
	path := filepath.Join(t.TempDir(), "node.sock")
	socket, err := listen.Unix(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	front := listen.New(listen.Config{
		HTTP: n.server.HTTP(), GRPC: n.server.GRPC(), Fallback: n.server.Fallback(), Knows: newAuth(t, true).Knows,
		Log: slog.New(slog.DiscardHandler),
	})
	served := make(chan error, 1)
	go func() { served <- front.Serve(ctx, listen.Source{Listener: socket}) }()

	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	response, err := client.Post("http://node/v1/manifests", "application/yaml", strings.NewReader(manifestOf("web")))
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("REST: got %v, %v", response, err)
	}
	response.Body.Close()
	client.CloseIdleConnections()

	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	health, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("health: got %v, %v", health, err)
	}
	w := n.watch(t, nodev1.NewPodsServiceClient(conn), &nodev1.WatchPodsRequest{})
	w.want("ADDED web uid-1", "SYNCED")

	n.server.Stop()
	cancel()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	if _, err := w.recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("watch: got %v, want Unavailable", err)
	}
}

func TestAClientThatTricklesItsBodyIsCutOff(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Front.Limits.BodyTimeout = 50 * time.Millisecond })
	front := httptest.NewTLSServer(n.server.HTTP())
	defer front.Close()
	for _, path := range []string{"/v1/manifests", "/ui/session"} {
		t.Run(path, func(t *testing.T) {
			conn, err := tls.Dial("tcp", front.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\napi")); err != nil {
				t.Fatal(err)
			}
			answer := make([]byte, len("HTTP/1.1 408"))
			if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 408" {
				t.Errorf("got %q, %v, want 408", answer, err)
			}
		})
	}
}

func TestAPanicIsOneFailedRequest(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Log = slog.New(slog.DiscardHandler) })
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.runtime.execSync = nil // calling it panics
	client := nodev1.NewExecServiceClient(n.dial(t))
	request := &nodev1.RunRequest{Namespace: "default", Name: "web", Container: "main", Command: []string{"ls"}}
	for range 2 {
		if _, err := client.Run(t.Context(), request); status.Code(err) != codes.Internal {
			t.Errorf("got %v, want Internal", err)
		}
	}
}

// untouched is a body that must not be read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// TestAnUnexpectedBodyIsNotRead posts a form. Parsing it would leave files on the disk.
func TestAnUnexpectedBodyIsNotRead(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Machine.Stats = scriptedStats{summary: &statsapi.Summary{}} })
	for _, c := range []struct {
		name         string
		handler      http.Handler
		method, path string
	}{
		{"stats", n.server.HTTP(), "GET", "/stats/summary"},
		{"stats on the read-only port", n.server.ReadOnly(), "GET", "/stats/summary"},
		{"stats by POST", n.server.HTTP(), "POST", "/stats/summary"},
		{"a profile", n.server.HTTP(), "GET", "/debug/pprof/goroutine?debug=1"},
		{"a profile of the heap", n.server.HTTP(), "GET", "/debug/pprof/heap"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, untouched{t})
			r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
			w := httptest.NewRecorder()
			c.handler.ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Errorf("got %d %s, want 200", w.Code, w.Body)
			}
		})
	}
}

func TestTheBodyOfARefusedCallerIsNotRead(t *testing.T) {
	n := guarded(t)
	for _, c := range []struct {
		name, token, path string
		want              int
	}{
		{"a viewer applies", tokenOf(t, "viewer"), "/v1/manifests", 403},
		{"a viewer plans", tokenOf(t, "viewer"), "/v1/manifests:plan", 403},
		{"a viewer runs a command", tokenOf(t, "viewer"), runPath, 403},
		{"a viewer runs a command as on a kubelet", tokenOf(t, "viewer"), "/run/default/web/main", 403},
		{"a viewer imports an image", tokenOf(t, "viewer"), "/v1/images:import?name=x", 403},
		{"a viewer pulls an image", tokenOf(t, "viewer"), "/v1/images:pull", 403},
		{"no caller", "", "/v1/manifests", 401},
		{"a wrong token", "Bearer wrong", "/v1/manifests", 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), "POST", c.path, untouched{t})
			r.Header.Set("Authorization", c.token)
			w := httptest.NewRecorder()
			n.server.HTTP().ServeHTTP(w, r)
			if w.Code != c.want {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, c.want)
			}
		})
	}
	t.Run("gRPC by net/http", func(t *testing.T) {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/node.v1.ManifestsService/Apply", untouched{t})
		r.Header.Set("Content-Type", "application/grpc")
		w := httptest.NewRecorder()
		n.server.Fallback().ServeHTTP(w, r)
		if got := w.Header().Get("Grpc-Status"); w.Code != 200 || got != "16" {
			t.Errorf("got %d and status %s, want 16", w.Code, got)
		}
	})
}

// A watch keeps its request for as long as it lasts.
func TestARequestThatReadsIsSmall(t *testing.T) {
	n := guarded(t)
	conn := n.dial(t)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", tokenOf(t, "viewer"))
	large := strings.Repeat("x", 100<<10)
	pods := nodev1.NewPodsServiceClient(conn)
	if _, err := pods.GetPod(ctx, &nodev1.GetPodRequest{Namespace: "default", Name: large}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a call: got %v, want ResourceExhausted", err)
	}
	watch, err := pods.WatchPods(ctx, &nodev1.WatchPodsRequest{Namespace: large})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a watch: got %v, want ResourceExhausted", err)
	}
	if _, err := pods.GetPod(ctx, &nodev1.GetPodRequest{Namespace: "default", Name: large[:1000]}); status.Code(err) != codes.NotFound {
		t.Errorf("a name that may be: got %v, want NotFound", err)
	}
}

func TestABodyThatMeansNothingIsNotRead(t *testing.T) {
	n := guarded(t)
	for _, c := range []struct{ method, path string }{{"GET", "/v1/pods"}, {"GET", "/v1/node"}, {"GET", "/v1/images:prunePlan"}} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, untouched{t})
		r.Header.Set("Authorization", tokenOf(t, "viewer"))
		w := httptest.NewRecorder()
		n.server.HTTP().ServeHTTP(w, r)
	}
}
