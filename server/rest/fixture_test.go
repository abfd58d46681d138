package rest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/server/inproc"
	"nodal/server/method"
	"nodal/server/wire"
)

// services are behind the API in place of the node's. They note deletions, and answer
// everything else that they are asked as not implemented.
type services struct {
	nodev1.UnimplementedPodsServiceServer
	nodev1.UnimplementedManifestsServiceServer
	deleted int
}

func (s *services) DeletePod(context.Context, *nodev1.DeletePodRequest) (*nodev1.DeletePodResponse, error) {
	s.deleted++
	return &nodev1.DeletePodResponse{}, nil
}

func (s *services) Delete(context.Context, *nodev1.DeleteRequest) (*nodev1.DeleteResponse, error) {
	s.deleted++
	return &nodev1.DeleteResponse{}, nil
}

func (s *services) ListPodsText(context.Context, *nodev1.ListPodsTextRequest) (*nodev1.ListPodsTextResponse, error) {
	return &nodev1.ListPodsTextResponse{Json: []byte("{}\n")}, nil
}

// serve routes the paths of every method, to callers with every right.
func serve(t *testing.T, s *services) http.Handler {
	t.Helper()
	conn := inproc.New(nil, nil)
	nodev1.RegisterPodsServiceServer(conn, s)
	nodev1.RegisterManifestsServiceServer(conn, s)
	handlers, err := New(conn, wire.BodyLimits{Bytes: 1 << 10, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	mux := chi.NewMux()
	for _, m := range methods(t) {
		for _, p := range m.Paths {
			handler, err := handlers.Handler(m, p)
			if err != nil {
				t.Fatal(err)
			}
			mux.Method(p.Verb, p.Pattern, handler)
		}
	}
	return mux
}

func methods(t *testing.T) []method.Method {
	t.Helper()
	all, err := method.All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func ask(t *testing.T, h http.Handler, method, path string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader("kind: Pod\n"))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}
