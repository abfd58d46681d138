package neighbour

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"nodal/node"
)

// other is a node that keeps what it was asked.
type other struct {
	*httptest.Server

	mu    sync.Mutex
	role  string // of the token; empty if it is unknown
	asked []string
}

func newOther(t *testing.T, role string) *other {
	o := &other{role: role}
	o.Server = httptest.NewTLSServer(http.HandlerFunc(o.serve))
	t.Cleanup(o.Close)
	return o
}

func (o *other) serve(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	role := o.role
	o.asked = append(o.asked, fmt.Sprintf("%s %s %s %s", r.Method, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Accept")))
	o.mu.Unlock()
	switch {
	case role == "":
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/ui/session":
		fmt.Fprintf(w, `{"name":"x","role":%q}`, role)
	case r.URL.Path == "/v1/away":
		http.Redirect(w, r, "https://192.0.2.1/", http.StatusFound)
	default:
		io.WriteString(w, "from "+r.URL.Path)
	}
}

func (o *other) become(role string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.role, o.asked = role, nil
}

func (o *other) was() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked
}

// ca returns the node's authority in PEM.
func (o *other) ca() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: o.Certificate().Raw}))
}

func (o *other) record(name string) record {
	return record{Name: name, Node: o.URL, CA: o.ca(), Token: "secret"}
}

// bookOf writes a file of nodes.
func bookOf(t *testing.T, records ...record) *Book {
	t.Helper()
	b := Open(filepath.Join(t.TempDir(), "contexts.yaml"))
	write(t, b, records...)
	return b
}

func write(t *testing.T, b *Book, records ...record) {
	t.Helper()
	text, err := yaml.Marshal(file{Contexts: records})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (b *Book) text(t *testing.T, name, path string) (string, error) {
	t.Helper()
	answer, err := b.Get(t.Context(), name, path, "application/json")
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), nil
}

func TestANodeIsReadByItsToken(t *testing.T) {
	o := newOther(t, "viewer")
	b := bookOf(t, o.record("edge-2"))
	for range 2 {
		if got, err := b.text(t, "edge-2", "/v1/pods?limit=1"); got != "from /v1/pods" || err != nil {
			t.Fatalf("got %q %v", got, err)
		}
	}
	want := "GET /ui/session Bearer secret application/json\n" + strings.Repeat("GET /v1/pods?limit=1 Bearer secret application/json\n", 2)
	if got := strings.Join(o.was(), "\n") + "\n"; got != want {
		t.Errorf("asked:\n%swant, with one look at the token:\n%s", got, want)
	}
	if got, err := b.List(); err != nil || len(got) != 1 || got[0] != (node.Neighbour{Name: "edge-2", URL: o.URL}) {
		t.Errorf("list: got %v %v", got, err)
	}
}

func TestATokenThatMayDoMoreIsNotUsed(t *testing.T) {
	for _, role := range []string{"operator", "admin", "none"} {
		o := newOther(t, role)
		_, err := bookOf(t, o.record("edge-2")).text(t, "edge-2", "/v1/pods")
		if err == nil || !strings.Contains(err.Error(), "give one of a viewer") {
			t.Errorf("%s: got %v", role, err)
		}
		if got := o.was(); len(got) != 1 {
			t.Errorf("%s: asked %q, want only who the token is", role, got)
		}
	}
}

func TestARevokedTokenIsNamedAndLookedAtAgain(t *testing.T) {
	o := newOther(t, "viewer")
	b := bookOf(t, o.record("edge-2"))
	if _, err := b.text(t, "edge-2", "/v1/pods"); err != nil {
		t.Fatal(err)
	}
	o.become("")
	for range 2 {
		if _, err := b.text(t, "edge-2", "/v1/pods"); !errors.Is(err, errUnknownToken) {
			t.Errorf("got %v, want words about the token", err)
		}
	}
	o.become("admin") // another token with the same letters is another one
	if _, err := b.text(t, "edge-2", "/v1/pods"); err == nil || len(o.was()) != 1 {
		t.Errorf("got %v after %q", err, o.was())
	}
}

func TestATokenIsLookedAtAgainAfterAWhile(t *testing.T) {
	o := newOther(t, "viewer")
	b, now := bookOf(t, o.record("edge-2")), time.Now()
	b.now = func() time.Time { return now }
	if _, err := b.text(t, "edge-2", "/v1/pods"); err != nil {
		t.Fatal(err)
	}
	o.become("admin")
	now = now.Add(trusted)
	if _, err := b.text(t, "edge-2", "/v1/pods"); err == nil || len(o.was()) != 1 {
		t.Errorf("a token that has become an admin's: got %v after %q", err, o.was())
	}
}

func TestANodeThatIsGoneIsNoticed(t *testing.T) {
	client, err := clientFor("")
	if err != nil {
		t.Fatal(err)
	}
	if got := client.Transport.(*http.Transport).HTTP2; got == nil || got.SendPingTimeout <= 0 || got.PingTimeout <= 0 {
		t.Errorf("pings: got %+v", got)
	}
}

func TestAFileThatCouldNotBeReadIsReadAgain(t *testing.T) {
	o := newOther(t, "viewer")
	b := bookOf(t, o.record("edge-2"))
	text, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.Stat(b.path)
	if err != nil {
		t.Fatal(err)
	}
	put := func(text []byte) {
		if err := errors.Join(os.WriteFile(b.path, text, 0o600), os.Chtimes(b.path, time.Time{}, written.ModTime())); err != nil {
			t.Fatal(err)
		}
	}
	put([]byte(strings.Repeat("!", len(text))))
	if _, err := b.List(); err == nil {
		t.Fatal("a broken file lists nodes")
	}
	put(text)
	if _, err := b.List(); err != nil {
		t.Errorf("a mended file of the same time and size: got %v", err)
	}
}

func TestOnlyTheNodesOfTheFileAreReached(t *testing.T) {
	o, stranger := newOther(t, "viewer"), newOther(t, "viewer")
	posing := stranger.record("posing")
	posing.CA = newOtherAuthority(t)
	b := bookOf(t, o.record("edge-2"), posing)
	if _, err := b.text(t, "edge-3", "/v1/pods"); !errors.Is(err, node.ErrNotFound) {
		t.Errorf("an unknown name: got %v", err)
	}
	if _, err := b.text(t, "posing", "/v1/pods"); err == nil || len(stranger.was()) != 0 {
		t.Errorf("a node with another authority: got %v, and it was asked %q", err, stranger.was())
	}
	answer, err := b.Get(t.Context(), "edge-2", "/v1/away", "")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusFound {
		t.Errorf("a redirect: got %d, want it unfollowed", answer.StatusCode)
	}
}

func TestTheFileIsReadAgainWhenItChanges(t *testing.T) {
	o := newOther(t, "viewer")
	b := bookOf(t, o.record("edge-2"))
	if _, err := b.text(t, "edge-2", "/v1/pods"); err != nil {
		t.Fatal(err)
	}
	write(t, b, o.record("edge-3-with-a-longer-name"))
	if _, err := b.text(t, "edge-2", "/v1/pods"); !errors.Is(err, node.ErrNotFound) {
		t.Errorf("a node that is gone: got %v", err)
	}
	if got, err := b.text(t, "edge-3-with-a-longer-name", "/v1/node"); got != "from /v1/node" || err != nil {
		t.Errorf("a new node: got %q %v", got, err)
	}
	if err := os.Remove(b.path); err != nil {
		t.Fatal(err)
	}
	if _, err := b.List(); err == nil {
		t.Error("a file that is gone lists nodes")
	}
}

func TestAFileThatIsNotSafeIsNotUsed(t *testing.T) {
	good := record{Name: "edge-2", Node: "https://edge-2", Token: "secret"}
	with := func(change func(*record)) []record {
		r := good
		change(&r)
		return []record{r}
	}
	for _, c := range []struct {
		name    string
		records []record
		want    string
	}{
		{"no TLS", with(func(r *record) { r.Node = "http://edge-2:10250" }), "want a URL such as https://host:10250"},
		{"a path", with(func(r *record) { r.Node = "https://edge-2/admin" }), "want a URL"},
		{"a query", with(func(r *record) { r.Node = "https://edge-2?x=1" }), "want a URL"},
		{"a password in the URL", with(func(r *record) { r.Node = "https://a:hunter2@edge-2" }), "want a URL"},
		{"no token", with(func(r *record) { r.Token = "" }), "token missing"},
		{"a token of two lines", with(func(r *record) { r.Token = "a\nb" }), "token missing"},
		{"no name", with(func(r *record) { r.Name = "" }), "want a name"},
		{"a name that leads elsewhere", with(func(r *record) { r.Name = "../x" }), "want a name"},
		{"an authority that is none", with(func(r *record) { r.CA = "x" }), "no certificate in PEM"},
		{"one name twice", []record{good, good}, "stands there twice"},
		{"too many", make([]record, mostNodes+1), "at most 256"},
	} {
		if _, err := bookOf(t, c.records...).List(); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	b := bookOf(t, good)
	if got, err := b.List(); err != nil || got[0].URL != "https://edge-2:10250" {
		t.Errorf("the usual port: got %v %v", got, err)
	}
	if err := os.Chmod(b.path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := b.List(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that all can read: got %v", err)
	}
	if err := os.Chmod(b.path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.List(); err != nil {
		t.Errorf("the same file after chmod 600: got %v", err)
	}
}

func TestAnAnswerLastsAsLongAsItsCaller(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ui/session" {
			io.WriteString(w, `{"role":"viewer"}`)
			return
		}
		io.WriteString(w, "first\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(ended)
	}))
	t.Cleanup(server.Close)
	o := &other{Server: server}
	ctx, cancel := context.WithCancel(t.Context())
	answer, err := bookOf(t, o.record("edge-2")).Get(ctx, "edge-2", "/v1/pods:watch", "text/event-stream")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	first := make([]byte, 6)
	if _, err := io.ReadFull(answer.Body, first); err != nil || string(first) != "first\n" {
		t.Fatalf("got %q %v", first, err)
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the other node goes on after the caller has gone")
	}
}
