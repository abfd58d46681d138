package kubeletapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
	"nodal/server/runs"
	"nodal/server/trace"
	"nodal/server/wire"
)

var testNow = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// pods is a store of pods that do not change.
type pods map[node.Key]store.View

func (p pods) View(key node.Key) (store.View, bool) {
	v, ok := p[key]
	return v, ok
}

func (pods) Changed() <-chan struct{} { return nil }

func (pods) Views() ([]store.View, int64) { return nil, 0 }

func (pods) Holds(types.UID) bool { return true }

// twoPods are web, whose container runs, and waiting, which has nothing yet.
func twoPods() pods {
	all := pods{}
	for _, name := range []string{"web", "waiting"} {
		key := node.Key{Namespace: "default", Name: name}
		object := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "uid-1"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
		}
		all[key] = store.View{Key: key, Slot: &node.Slot{Pod: &node.Pod{Object: object}}}
	}
	web := all[node.Key{Namespace: "default", Name: "web"}]
	web.Got = &node.Observed{
		Sandboxes: []node.Sandbox{{ID: "sandbox", UID: "uid-1", State: node.SandboxReady}},
		Containers: []node.Container{{
			ID: "container", UID: "uid-1", Name: "main", State: node.ContainerRunning, SandboxID: "sandbox",
		}},
	}
	all[web.Key] = web
	return all
}

// needs returns a complete configuration, changed by a test.
func needs(change func(*Config)) Config {
	found := twoPods()
	logs := runs.Logs{Pods: found, Files: &files{}}
	cfg := Config{
		Streams: Streams{Entrance: runs.Entrance{Pods: found, May: anybody}, Trace: trace.Off, Idle: func() time.Duration { return 0 }},
		Logs:    Logs{Runs: logs, Trace: trace.Off, Now: func() time.Time { return testNow }},
		Figures: Figures{Log: slog.New(slog.DiscardHandler)},
		Process: Process{Version: "v1", Now: func() time.Time { return testNow }, Log: slog.New(slog.DiscardHandler)},
	}
	change(&cfg)
	return cfg
}

func anybody(context.Context, *corev1.Pod) error { return nil }

// serve routes the paths, to callers with every right.
func serve(cfg Config) http.Handler {
	mux := chi.NewMux()
	for _, r := range Routes(cfg) {
		var handler http.Handler = r.Handler
		if r.Body {
			handler = wire.ReadBody(wire.BodyLimits{Bytes: 1 << 10, Timeout: time.Minute}, handler)
		}
		if r.Method == AnyMethod {
			mux.Handle(r.Pattern, handler)
		} else {
			mux.Method(r.Method, r.Pattern, handler)
		}
	}
	return mux
}

func ask(t *testing.T, h http.Handler, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// files remembers how a log was asked for, and holds one line.
type files struct {
	run     node.LogRun
	options node.LogOptions
}

func (f *files) OfPod(node.Key, types.UID) ([]node.LogFile, error) { return nil, nil }

func (f *files) Kept() ([]node.LogFile, error) { return nil, nil }

func (f *files) Read(_ context.Context, run node.LogRun, o node.LogOptions, sink node.LogSink) error {
	f.run, f.options = run, o
	if _, err := io.WriteString(sink, "hello\n"); err != nil {
		return err
	}
	return sink.Flush()
}

// containers enters containers as a test says. Those that it leaves out must not be called.
type containers struct {
	runs.Containers
	exec   func(context.Context) error
	attach func(context.Context) error
}

func (c containers) Exec(ctx context.Context, _ string, _ []string, _ node.Streams) (int32, error) {
	return 0, c.exec(ctx)
}

func (c containers) Attach(ctx context.Context, _ string, _ node.Streams) error { return c.attach(ctx) }
