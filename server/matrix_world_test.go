package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/cadvisor/lib/model"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node"
	entries "nodal/node/audit"
	"nodal/server/audit"
	"nodal/server/auth"
	"nodal/server/listen"
)

// world is a node with all its listeners, and the table of what it serves.
type world struct {
	*node1
	guard    *auth.Authenticator
	file     *auditLines
	table    []declared
	root     string
	roots    *x509.CertPool
	secure   string // address of the TLS port
	readOnly string
	health   string
	socket   string
}

// newWorld returns a node whose guard is changed by alter. nil leaves it as it is, with a cluster behind it.
func newWorld(t *testing.T, alter func(*auth.Config)) *world {
	t.Helper()
	w := &world{file: &auditLines{}, table: readTable(t), root: t.TempDir(), roots: x509.NewCertPool()}
	w.socket = filepath.Join(w.root, "node.sock")
	material, err := auth.Bootstrap(auth.Dirs{Root: w.root}, []string{"localhost"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.node1 = newNode(t, func(c *Config) {
		c.Front.Audit, err = audit.New(audit.Config{
			Policy: entries.DefaultPolicy(), Fields: entries.Fields{Object: true}, File: w.file, Store: c.State.Store, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		guarding := auth.Config{
			Material: *material, SocketPath: w.socket, Audit: &leisurely{Log: c.Front.Audit}, Tokens: oneVerb{}, Access: oneVerb{},
			Log: slog.New(slog.DiscardHandler),
		}
		if alter != nil {
			alter(&guarding)
		}
		w.guard, err = auth.New(guarding)
		if err != nil {
			t.Fatal(err)
		}
		level := loudness{}
		c.Front.Auth, c.Machine.Stats, c.Machine.Images, c.Debug.Verbosity = w.guard, noStats{}, &scriptedImages{}, &level
		c.Log = slog.New(slog.DiscardHandler)
	})
	w.roots.AppendCertsFromPEM([]byte(read(t, material.CAFile)))
	w.listen(t)
	for _, namespace := range []string{"dev", "prod"} {
		w.postAs(t, inNamespace(namespace, "web"))
	}
	return w
}

// listen opens the ports and the socket as the agent does.
func (w *world) listen(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var ended []chan error
	serve := func(f func() error) {
		done := make(chan error, 1)
		ended = append(ended, done)
		go func() { done <- f() }()
	}
	t.Cleanup(func() {
		w.server.Stop()
		cancel()
		for _, done := range ended {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
	plain := func(handler http.Handler) (address string) {
		l := listenTCP(t)
		serve(func() error {
			return listen.ServePlain(ctx, listen.Plain(handler, slog.New(slog.DiscardHandler)), l, time.Second)
		})
		return l.Addr().String()
	}
	w.readOnly, w.health = plain(w.server.ReadOnly()), plain(w.server.Healthz())
	socket, err := listen.Unix(w.socket)
	if err != nil {
		t.Fatal(err)
	}
	// Users of the machine without the group's rights come in, too: what they may do is the matrix's question.
	for path, mode := range map[string]os.FileMode{w.socket: 0o666, w.root: 0o711, filepath.Dir(w.root): 0o711} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	secure, err := w.guard.TLS(nil)
	if err != nil {
		t.Fatal(err)
	}
	tcp := listenTCP(t)
	w.secure = tcp.Addr().String()
	front := listen.New(listen.Config{
		HTTP: w.server.HTTP(), GRPC: w.server.GRPC(), Fallback: w.server.Fallback(), Knows: w.guard.Knows,
		ConnContext: w.guard.ConnContext, Grace: time.Second, Log: slog.New(slog.DiscardHandler),
	})
	serve(func() error {
		return front.Serve(ctx, listen.Source{Listener: socket}, listen.Source{Listener: tcp, TLS: secure})
	})
}

func listenTCP(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// credential returns one that the node has made for its users.
func (w *world) credential(t *testing.T, name string) string {
	t.Helper()
	return read(t, filepath.Join(w.root, "credentials", name))
}

func (w *world) postAs(t *testing.T, manifest string) {
	t.Helper()
	got := w.do(t, "POST", "/v1/manifests", manifest, "Authorization", "Bearer "+w.credential(t, "admin.token"))
	if got.status != http.StatusOK {
		t.Fatalf("apply: got %d %s", got.status, got.body)
	}
	w.file.take()
}

// signIn opens a browser's session with a token.
func (w *world) signIn(t *testing.T, bearer string) *http.Cookie {
	t.Helper()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: w.roots}}}
	defer client.CloseIdleConnections()
	got, err := client.Post("https://"+w.secure+"/ui/session", "application/json", bytes.NewReader([]byte(`{"token":"`+bearer+`"}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK || len(got.Cookies()) != 1 {
		t.Fatalf("sign in: got %s with %d cookies", got.Status, len(got.Cookies()))
	}
	w.file.take()
	return got.Cookies()[0]
}

// leisurely is an audit log to which refused requests come a quarter of an hour apart, so that each gets its entry.
type leisurely struct {
	*audit.Log
	refused time.Duration
}

func (l *leisurely) Refuse(c auth.Call, outcome string) {
	l.refused++
	c.Started = c.Started.Add(l.refused * 15 * time.Minute)
	l.Log.Refuse(c, outcome)
}

// oneVerb is a cluster. Its users have one verb on all of the node: getter may get, creator may create.
type oneVerb struct{}

var (
	_ auth.TokenReviewer  = oneVerb{}
	_ auth.AccessReviewer = oneVerb{}
)

func (oneVerb) Review(_ context.Context, token string) (auth.Identity, bool, error) {
	if token != "getter" && token != "creator" {
		return auth.Identity{}, false, nil
	}
	return auth.Identity{Name: token, Via: "token"}, true, nil
}

func (oneVerb) Allows(_ context.Context, id auth.Identity, to auth.Access) (bool, error) {
	return id.Name == map[string]string{"get": "getter", "create": "creator"}[to.Verb], nil
}

// noStats is a machine without figures.
type noStats struct{}

var _ Stats = noStats{}

func (noStats) Summary(context.Context) (*statsapi.Summary, error) { return &statsapi.Summary{}, nil }

func (noStats) Usage(context.Context) (*statsapi.Summary, error) { return &statsapi.Summary{}, nil }

func (noStats) Cgroups(context.Context) ([]*model.ContainerInfo, error) { return nil, nil }

func (noStats) Machine() (*model.MachineInfo, error) { return &model.MachineInfo{}, nil }

func (noStats) History(types.UID) map[string][]node.Usage { return nil }
