package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/intake"
	"nodal/node/offer"
	"nodal/node/store"
	"nodal/reconciler"
	"nodal/server/auth"
	"nodal/server/metrics"
	"nodal/server/runs"
)

// memory is a journal that keeps nothing. It can be full.
type memory struct {
	mu   sync.Mutex
	full bool
}

func (m *memory) Commit(...store.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full {
		return fmt.Errorf("write records: %w", node.ErrNoSpace)
	}
	return nil
}

func (m *memory) CommitReserved(...store.Record) error { return nil }

func (m *memory) fill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full = true
}

// node1 is a node made by hand: tests play the reconciler.
type node1 struct {
	journal *memory
	store   *store.Store
	events  *store.Events
	sources *store.Sources
	offers  offer.Board
	runtime *scriptedRuntime
	logs    *scriptedLogs
	server  *Server
}

var testNow = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func newNode(t testing.TB, change ...func(*Config)) *node1 {
	t.Helper()
	n := &node1{journal: &memory{}, runtime: &scriptedRuntime{}, logs: &scriptedLogs{}}
	clock, err := store.OpenClock(n.journal, nil)
	if err != nil {
		t.Fatal(err)
	}
	n.store, n.events = store.New(n.journal, clock), store.NewEvents(clock)
	n.sources = store.NewSources(map[node.Source]string{node.SourceFile: "/etc/pods"})
	uid := 0
	n.offers.Post(offer.Offer{Node: admit.Node{Name: "node1"}})
	cfg := Config{
		State: State{
			Store: n.store, Events: n.events, Sources: n.sources, Offers: &n.offers,
			Configuration: configured{Configz: []byte(`{"kubeletconfig":{}}`)},
			Site:          node.Site{NodeName: "node1", HostIPs: []string{"192.0.2.1"}, Runtime: "containerd", BackoffMax: node.DefaultBackoffMax},
			Intake: intake.Intake{Store: n.store, Source: node.SourceAPI, Offer: n.offers.Read, NewUID: func() types.UID {
				uid++
				return types.UID(fmt.Sprintf("uid-%d", uid))
			}},
		},
		Machine: Machine{
			Containers: n.runtime, Logs: n.logs,
			System: SystemLogs{ByName: &scriptedNodeLogs{}, Files: fstest.MapFS{}},
			Vitals: reconciler.NewVitals(reconciler.VitalsConfig{Runtime: n.runtime, Clock: time.Now, Log: slog.New(slog.DiscardHandler)}),
			Running: func(context.Context) (map[node.Key]*node.Observed, error) {
				views, _ := n.store.Views()
				found := map[node.Key]*node.Observed{}
				for _, v := range views {
					found[v.Key] = v.Got
				}
				return found, nil
			},
			Probes: func() []*node.ProbeCount { return nil },
			Alive:  func(context.Context) error { return nil },
		},
		Facts: Facts{Version: "v1", Started: testNow, Endpoint: "unix:///run/cri.sock"},
		Front: Front{Auth: newAuth(t, true), Requests: metrics.NewAgent("node1", 0, n.store.Views)},
		Now:   func() time.Time { return testNow },
	}
	for _, f := range change {
		f(&cfg)
	}
	if n.server, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.server.Stop)
	return n
}

// configured is a configuration that stays the same.
type configured Configured

func (c configured) Read() Configured         { return Configured(c) }
func (c configured) Changed() <-chan struct{} { return nil }

// credentials are made once: a key takes longer than most tests.
var credentials string

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	dir, err := os.MkdirTemp("", "nodal-server-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	credentials = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// newAuth allows every request, or only those with a token.
func newAuth(t testing.TB, open bool) *auth.Authenticator {
	t.Helper()
	material, err := auth.Bootstrap(auth.Dirs{Root: credentials}, []string{"localhost"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := auth.New(auth.Config{Material: *material, Anonymous: open, AlwaysAllow: open})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// tokenOf returns the Authorization header of a role.
func tokenOf(t *testing.T, role string) string {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(credentials, "credentials", role+".token"))
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + strings.TrimSpace(string(token))
}

func manifestOf(name string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n  labels: {app: " + name + "}\n" +
		"spec:\n  containers:\n  - {name: main, image: registry.test/main:1}\n"
}

// apply posts a manifest and fails the test if it is refused.
func (n *node1) apply(t testing.TB, manifest string) {
	t.Helper()
	if got := n.do(t, "POST", "/v1/manifests", manifest); got.status != http.StatusOK {
		t.Fatalf("apply: got %d %s", got.status, got.body)
	}
}

// run plays the reconciler: the pod's container runs.
func (n *node1) run(t testing.TB, name string, attempts ...node.ContainerState) {
	t.Helper()
	key := node.Key{Namespace: "default", Name: name}
	view, ok := n.store.View(key)
	if !ok {
		t.Fatalf("run pod %s: there is none", key)
	}
	uid := view.Slot.Pod.UID()
	got := &node.Observed{Sandboxes: []node.Sandbox{{
		ID: "sandbox-" + name, UID: uid, State: node.SandboxReady, CreatedAt: testNow.Add(time.Second), IPs: []string{"10.0.0.7"}, Inspected: true,
	}}}
	for i, state := range attempts {
		c := node.Container{
			ID: fmt.Sprintf("%s-main-%d", name, i), SandboxID: "sandbox-" + name, UID: uid, Name: "main", Attempt: uint32(i), State: state,
			CreatedAt: testNow.Add(2 * time.Second), StartedAt: testNow.Add(3 * time.Second), Inspected: true, Image: "registry.test/main:1",
		}
		if state == node.ContainerExited {
			c.FinishedAt, c.ExitCode = testNow.Add(4*time.Second), 1
		}
		got.Containers = append([]node.Container{c}, got.Containers...)
	}
	n.store.Observe(key, got)
}

type answer struct {
	status int
	body   string
	header http.Header
}

// do sends a request as curl --data-binary would.
func (n *node1) do(t testing.TB, method, path, body string, headers ...string) answer {
	t.Helper()
	return ask(t, n.server.HTTP(), method, path, body, headers...)
}

func ask(t testing.TB, handler http.Handler, method, path, body string, headers ...string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if body == "" {
		r.Body = http.NoBody
	} else {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return answer{w.Code, w.Body.String(), w.Header()}
}

// dial connects by gRPC.
func (n *node1) dial(t testing.TB) *grpc.ClientConn {
	t.Helper()
	return dialServer(t, n.server.GRPC())
}

// dialServer serves and returns a connection, until the test ends.
func dialServer(t testing.TB, s *grpc.Server) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	go s.Serve(l)
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient("passthrough:///node",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// scriptedRuntime answers as the test says.
type scriptedRuntime struct {
	execSync func(ctx context.Context, id string, command []string, timeout time.Duration) ([]byte, []byte, int32, error)
	exec     func(ctx context.Context, id string, command []string, s node.Streams) (int32, error)
	attach   func(ctx context.Context, id string, s node.Streams) error
	forward  func(ctx context.Context, sandbox string, port int32, client io.ReadWriter) error
	status   func(context.Context) (node.RuntimeStatus, error)
	turned   node.Bell
}

func (r *scriptedRuntime) Attach(ctx context.Context, id string, s node.Streams) error {
	return r.attach(ctx, id, s)
}

func (r *scriptedRuntime) PortForward(ctx context.Context, sandbox string, port int32, client io.ReadWriter) error {
	return r.forward(ctx, sandbox, port, client)
}

func (r *scriptedRuntime) ExecSync(ctx context.Context, id string, command []string, timeout time.Duration) ([]byte, []byte, int32, error) {
	return r.execSync(ctx, id, command, timeout)
}

func (r *scriptedRuntime) Exec(ctx context.Context, id string, command []string, s node.Streams) (int32, error) {
	return r.exec(ctx, id, command, s)
}

func (r *scriptedRuntime) Status(ctx context.Context) (node.RuntimeStatus, error) {
	if r.status == nil {
		return node.RuntimeStatus{Name: "containerd", Version: "2", Ready: true, NetworkReady: true}, nil
	}
	return r.status(ctx)
}

func (r *scriptedRuntime) Changed() <-chan struct{} { return r.turned.Heard() }

// scriptedLogs notes the request and writes a line, unless the test says otherwise.
type scriptedLogs struct {
	run     node.LogRun
	options node.LogOptions
	shut    error // why the log cannot be opened
	read    func(ctx context.Context, o node.LogOptions, sink node.LogSink) error
	files   []node.LogFile // of runs that were removed and of deleted pods
	lost    error          // why files cannot be listed
}

// OfPod returns the log of the first run of a pod.
func (l *scriptedLogs) OfPod(key node.Key, uid types.UID) ([]node.LogFile, error) {
	run := node.LogRun{Key: key, UID: uid, Container: "main"}
	return []node.LogFile{{Run: run, Bytes: 4096, Written: testNow}}, l.lost
}

func (l *scriptedLogs) Kept() ([]node.LogFile, error) { return slices.Clone(l.files), l.lost }

func (l *scriptedLogs) Read(ctx context.Context, run node.LogRun, o node.LogOptions, sink node.LogSink) error {
	l.run, l.options = run, o
	if l.shut != nil {
		return l.shut
	}
	if err := sink.Flush(); err != nil {
		return err
	}
	if l.read != nil {
		return l.read(ctx, o, sink)
	}
	if _, err := io.WriteString(sink, "hello\n"); err != nil {
		return err
	}
	return sink.Flush()
}

var (
	_ runs.Containers = (*scriptedRuntime)(nil)
	_ runs.Files      = (*scriptedLogs)(nil)
	_ store.Journal   = (*memory)(nil)
)
