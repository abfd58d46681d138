package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"nodal/node"
	"nodal/server/auth"
)

// village is a node with one neighbour, which answers what it was asked.
type village struct {
	mu    sync.Mutex
	asked []string
	body  io.Reader
	gone  func() // is called once the caller has gone
	code  int
	err   error
}

func (v *village) List() ([]node.Neighbour, error) {
	return []node.Neighbour{{Name: "edge-2", URL: "https://edge-2:10250"}}, v.err
}

func (v *village) Get(ctx context.Context, name, path, accept string) (*http.Response, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked = append(v.asked, path)
	if v.err != nil {
		return nil, v.err
	}
	if name != "edge-2" {
		return nil, fmt.Errorf("node %q: %w", name, node.ErrNotFound)
	}
	if v.gone != nil {
		context.AfterFunc(ctx, v.gone)
	}
	body := v.body
	if body == nil {
		body = strings.NewReader(path + " as " + accept)
	}
	header := http.Header{"Content-Type": {"application/json"}, "Set-Cookie": {"a=b"}, "Location": {"https://192.0.2.1"}, "Refresh": {"0"}, "Access-Control-Allow-Origin": {"*"}}
	return &http.Response{StatusCode: v.code, Header: header, Body: io.NopCloser(body)}, nil
}

func (v *village) was() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.asked
}

func withVillage(t *testing.T, v *village) *node1 {
	if v.code == 0 {
		v.code = 200
	}
	return newNode(t, withReach, func(c *Config) { c.Front.Auth, c.Front.Neighbours = newAuth(t, false), v })
}

func TestTheDashboardReadsOtherNodes(t *testing.T) {
	v := &village{}
	n := withVillage(t, v)
	cookie := signedIn(t, n, "viewer")
	if w := browse(t, n, "GET", "/ui/at", "", "Cookie", cookie); w.Code != 200 || w.Body.String() != `{"nodes":[{"name":"edge-2","url":"https://edge-2:10250"}]}`+"\n" {
		t.Errorf("the list: got %d %s", w.Code, w.Body)
	}
	w := browse(t, n, "GET", "/ui/at/edge-2/v1/pods?limit=2", "", "Cookie", cookie)
	if want := "/v1/pods?limit=2 as application/json, text/plain;q=0.9, */*;q=0.1"; w.Code != 200 || w.Body.String() != want {
		t.Errorf("pods: got %d %s, want %s", w.Code, w.Body, want)
	}
	for _, dropped := range []string{"Set-Cookie", "Location", "Refresh", "Access-Control-Allow-Origin"} {
		if got := w.Header().Get(dropped); got != "" {
			t.Errorf("%s: the other node's %q comes through", dropped, got)
		}
	}
	if h := w.Header(); h.Get("Content-Type") != "application/json" || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("headers: got %v", h)
	}
	if w := browse(t, n, "GET", "/ui/at/edge-2/v1/pods:watch", "", "Cookie", cookie, "Accept", "text/event-stream"); !strings.HasSuffix(w.Body.String(), " as text/event-stream") {
		t.Errorf("a watch: got %s", w.Body)
	}
	if w := browse(t, n, "GET", "/ui/at/edge-2/ui/session", "", "Cookie", cookie); !strings.HasPrefix(w.Body.String(), "/ui/session as ") {
		t.Errorf("who this node is there: got %s", w.Body)
	}
}

func TestNothingElseOfOtherNodesIsReached(t *testing.T) {
	for _, c := range []struct {
		name, role, method, path string
		want                     int
		text                     string
	}{
		{"nobody reads", "", "GET", "/ui/at/edge-2/v1/pods", 401, ""},
		{"nobody lists", "", "GET", "/ui/at", 401, ""},
		{"nobody posts", "admin", "POST", "/ui/at/edge-2/v1/manifests", 405, "read only"},
		{"nobody deletes", "admin", "DELETE", "/ui/at/edge-2/v1/namespaces/default/pods/web", 405, "read only"},
		{"a page is this node's own", "", "GET", "/ui/at/edge-2/pods/default/web", 200, "<html"},
		{"no other path is passed on", "admin", "GET", "/ui/at/edge-2/metrics", 200, "<html"},
		{"not the kubelet's", "admin", "GET", "/ui/at/edge-2/api/v1/secrets", 200, "<html"},
		{"not out of the API", "admin", "GET", "/ui/at/edge-2/v1/../metrics", 200, "<html"},
		{"not by escapes", "admin", "GET", "/ui/at/edge-2/v1/%2e%2e/metrics", 200, "<html"},
		{"not by another name", "admin", "GET", "/ui/at/edge-2/ui/code", 200, "<html"},
		{"not behind escaped slashes", "admin", "GET", "/ui/at/edge-2/v1%2f..%2fmetrics", 200, "<html"},
		{"not by a path in the name", "admin", "GET", "/ui/at/edge-2%2fv1/x", 400, "behind its escapes"},
	} {
		v := &village{}
		n := withVillage(t, v)
		var headers []string
		if c.role != "" {
			headers = []string{"Authorization", tokenOf(t, c.role)}
		}
		if w := browse(t, n, c.method, c.path, "", headers...); w.Code != c.want || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: got %d %.200s, want %d with %q", c.name, w.Code, w.Body, c.want, c.text)
		}
		if got := v.was(); len(got) != 0 {
			t.Errorf("%s: the other node was asked %q", c.name, got)
		}
	}
}

func TestFaultsOfOtherNodesAreTheirsAlone(t *testing.T) {
	for _, c := range []struct {
		name, path string
		village    *village
		want       int
		text       string
	}{
		{"one that does not answer", "/ui/at/edge-2/v1/pods", &village{err: errors.New("no route")}, 503, "no route"},
		{"one that the file does not have", "/ui/at/edge-9/v1/pods", &village{}, 404, "edge-9"},
		{"one that leads elsewhere", "/ui/at/edge-2/v1/pods", &village{code: 302}, 503, "not followed"},
		{"one that changes the protocol", "/ui/at/edge-2/v1/pods", &village{code: 101}, 503, "not followed"},
		{"one that says no code of HTTP", "/ui/at/edge-2/v1/pods", &village{code: 1000}, 503, "not followed"},
		{"what a viewer may not read there", "/ui/at/edge-2/v1/audit", &village{code: 403}, 403, ""},
		{"a file that cannot be read", "/ui/at", &village{err: errors.New("read --nodes-file: gone")}, 409, "read --nodes-file"},
	} {
		n := withVillage(t, c.village)
		w := browse(t, n, "GET", c.path, "", "Authorization", tokenOf(t, "viewer"))
		if w.Code != c.want || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: got %d %s, want %d with %q", c.name, w.Code, w.Body, c.want, c.text)
		}
	}
}

func TestUsersOfSomeNamespacesSeeNoOtherNode(t *testing.T) {
	v := &village{}
	hood, a := newNeighbourhood(v, nil), newAuth(t, false)
	narrowed := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := auth.Identity{Name: "alice", Role: auth.RoleViewer, Via: "token", Namespaces: []string{"prod"}}
			next.ServeHTTP(w, r.WithContext(auth.NewContext(r.Context(), id)))
		})
	}
	for _, path := range []string{"/ui/at", "/ui/at/edge-2/v1/pods"} {
		w := httptest.NewRecorder()
		hood.Front(a, narrowed, http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		if w.Code != 403 || len(v.was()) != 0 {
			t.Errorf("%s: got %d %s, and asked was %q", path, w.Code, w.Body, v.was())
		}
	}
}

func TestAnswersOfOtherNodesComeAtOnce(t *testing.T) {
	from, to := io.Pipe()
	n := withVillage(t, &village{body: from})
	front := httptest.NewServer(n.server.HTTP())
	t.Cleanup(front.Close)
	r, err := http.NewRequestWithContext(t.Context(), "GET", front.URL+"/ui/at/edge-2/v1/pods:watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", tokenOf(t, "viewer"))
	go io.WriteString(to, "first\n")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	first := make([]byte, 6)
	if _, err := io.ReadFull(answer.Body, first); err != nil || string(first) != "first\n" {
		t.Fatalf("got %q %v", first, err)
	}
	to.Close()
	if rest, err := io.ReadAll(answer.Body); len(rest) != 0 || err != nil {
		t.Errorf("the end: got %q %v", rest, err)
	}
}

func TestAnswersOfOtherNodesThatBreakOffDoNotLookWhole(t *testing.T) {
	from, to := io.Pipe()
	n := withVillage(t, &village{body: from})
	front := httptest.NewServer(n.server.HTTP())
	t.Cleanup(front.Close)
	r, err := http.NewRequestWithContext(t.Context(), "GET", front.URL+"/ui/at/edge-2/v1/pods", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", tokenOf(t, "viewer"))
	go func() {
		io.WriteString(to, "first\n")
		to.CloseWithError(errors.New("connection reset"))
	}()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return // it broke before its first part came
	}
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("got %q as a whole answer", got)
	}
}

func TestAnswersOfOtherNodesEndWithTheServer(t *testing.T) {
	from, to := io.Pipe()
	stopped, ended := make(chan struct{}), make(chan struct{})
	hood := newNeighbourhood(&village{code: 200, body: from, gone: func() { to.CloseWithError(context.Canceled) }}, stopped)
	ctx := auth.NewContext(t.Context(), auth.Identity{Name: "alice", Role: auth.RoleViewer, Via: "token"})
	go func() {
		defer close(ended)
		defer func() {
			if got := recover(); got != http.ErrAbortHandler {
				t.Errorf("got %v, want it cut so that it does not look complete", got)
			}
		}()
		hood.serve(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/ui/at/edge-2/v1/pods:watch", nil))
	}()
	if _, err := io.WriteString(to, "x"); err != nil { // it is read, so the answer is under way
		t.Fatal(err)
	}
	close(stopped)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("it goes on after the server has ended")
	}
}

func TestOneUserHoldsSoManyAnswersOfOneNode(t *testing.T) {
	from, to := io.Pipe()
	defer to.Close()
	v := &village{code: 200, body: from}
	hood := newNeighbourhood(v, nil)
	hood.open.Max = 1
	id := auth.Identity{Name: "alice", Role: auth.RoleViewer, Via: "token"}
	ask := func(name string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		hood.serve(w, httptest.NewRequestWithContext(auth.NewContext(t.Context(), id), "GET", "/ui/at/"+name+"/v1/pods", nil))
		return w
	}
	done := make(chan struct{})
	go func() {
		ask("edge-2")
		close(done)
	}()
	if _, err := io.WriteString(to, "x"); err != nil { // it is read, so the first one is under way
		t.Fatal(err)
	}
	if w := ask("edge-2"); w.Code != 429 {
		t.Errorf("the second: got %d %s, want 429", w.Code, w.Body)
	}
	if w := ask("edge-3"); w.Code != 404 {
		t.Errorf("another node: got %d %s, want that it was asked", w.Code, w.Body)
	}
	to.Close()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("the first one does not end")
	}
}
