package source

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nodal/node"
)

// site is a web server whose answer can be changed.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc
	asked  int
}

func newSite(t *testing.T, answer http.HandlerFunc) *site {
	s := &site{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked++
		answer := s.answer
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) serve(answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *site) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", code) }
}

func newURL(t *testing.T, config URLConfig) (*rig, *URL) {
	t.Helper()
	r := newRig(t, node.SourceURL)
	config.Sink = r.Sink
	config.Poll = 5 * time.Millisecond
	u, err := NewURL(config)
	must(t, err)
	return r, u
}

func TestURLIsFollowed(t *testing.T) {
	site := newSite(t, text(podYAML("web", "a:1")))
	r, u := newURL(t, URLConfig{URL: site.URL + "/pods"})
	r.run(u.Run)
	r.untilPods("web-node-1=a:1")
	r.until("the source has delivered", r.ready)

	site.serve(text(podYAML("web", "a:1") + "---\n" + podYAML("db", "b:1")))
	r.untilPods("db-node-1=b:1 web-node-1=a:1")

	site.serve(text(`{"apiVersion":"v1","kind":"PodList","items":[` + podJSON("web", "a:2") + `]}`))
	r.untilPods("web-node-1=a:2")

	site.serve(text(`{"apiVersion":"v1","kind":"PodList","items":[]}`))
	r.untilPods("")
	if got := r.reasons(); len(got) > 0 {
		t.Errorf("events = %q, want none", got)
	}
}

func TestUnreadableURLKeepsItsPods(t *testing.T) {
	away := newSite(t, text(podYAML("other", "a:1")))
	cases := []struct {
		name   string
		answer http.HandlerFunc
		says   string
		reason string
	}{
		{"an error", status(http.StatusInternalServerError), "500", ReasonUnavailable},
		{"not found", status(http.StatusNotFound), "404", ReasonUnavailable},
		{"no content", status(http.StatusNoContent), "204", ReasonUnavailable},
		{"nothing", text(""), "with nothing", ReasonUnavailable},
		{"a page for people", text("<html>hello</html>"), "document 1", ReasonInvalid},
		{"a pod that is cut off", text(podJSON("web", "a:2")[:50]), "document 1", ReasonInvalid},
		{"an unknown field", text(podYAML("web", "a:2") + "  imagee: x\n"), "spec.imagee", ReasonInvalid},
		{"too much", text(strings.Repeat("#", maxBody+1)), "more than", ReasonInvalid},
		{"a connection that breaks", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF", ReasonUnavailable},
		{"a redirect to another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, away.URL+"/?token=secret", http.StatusFound)
		}, "another place", ReasonUnavailable},
		{"redirects without end", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/again", http.StatusFound)
		}, "more than 3 redirects", ReasonUnavailable},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			site := newSite(t, text(podYAML("web", "a:1")))
			r, u := newURL(t, URLConfig{URL: site.URL + "/pods?token=secret"})
			r.run(u.Run)
			r.untilPods("web-node-1=a:1")

			site.serve(c.answer)
			r.until("the board shows the error", func() bool { return r.errors()["pods"] != "" })
			if got := r.errors()["pods"]; !strings.Contains(got, c.says) || strings.Contains(got, "secret") {
				t.Errorf("error = %q, want it to say %q and no secret", got, c.says)
			}
			asked := site.times()
			r.until("it is asked again", func() bool { return site.times() > asked+2 })
			if got, want := r.pods(), "web-node-1=a:1"; got != want {
				t.Errorf("pods = %s, want %s", got, want)
			}
			site.serve(text(podYAML("web", "a:3")))
			r.untilPods("web-node-1=a:3")
			r.until("the board is clear", func() bool { return len(r.errors()) == 0 })
			if got, want := r.reasons(), []string{c.reason, ReasonRecovered}; !slices.Equal(got, want) {
				t.Errorf("events = %q, want %q", got, want)
			}
		})
	}
}

func TestURLThatHangsIsGivenUp(t *testing.T) {
	release := make(chan struct{})
	site := newSite(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(release) })
	r, u := newURL(t, URLConfig{URL: site.URL})
	u.client.Timeout = 20 * time.Millisecond
	r.run(u.Run)
	r.until("the board shows the error", func() bool { return len(r.errors()) > 0 })
	site.serve(text(podYAML("web", "a:1")))
	r.untilPods("web-node-1=a:1")
}

func TestURLIsNotReadyBeforeItsFirstSuccess(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"an error": status(http.StatusBadGateway), "a page for people": text("<html>"),
	} {
		t.Run(name, func(t *testing.T) {
			site := newSite(t, answer)
			r, u := newURL(t, URLConfig{URL: site.URL})
			r.run(u.Run)
			r.until("it is asked twice", func() bool { return site.times() > 1 })
			if r.ready() {
				t.Error("the source is ready without having delivered")
			}
			site.serve(text(podYAML("web", "a:1")))
			r.until("the source has delivered", r.ready)
		})
	}
}

func TestWrongDocumentOfURLKeepsOnlyItself(t *testing.T) {
	site := newSite(t, text(podYAML("web", "a:1")+"---\n"+podYAML("db", "b:1")))
	r, u := newURL(t, URLConfig{URL: site.URL})
	r.run(u.Run)
	r.untilPods("db-node-1=b:1 web-node-1=a:1")
	site.serve(text(podYAML("web", "a:2") + "---\n" + podYAML("db", "''")))
	r.untilPods("db-node-1=b:1 web-node-1=a:2")
	r.until("the board names the document", func() bool {
		for _, message := range r.errors() {
			return strings.Contains(message, "document 2 (Pod default/db)")
		}
		return false
	})
}

func TestURLIsAskedWithItsHeaders(t *testing.T) {
	var mu sync.Mutex
	var header http.Header
	var host string
	site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		header, host = r.Header.Clone(), r.Host
		mu.Unlock()
		text(podYAML("web", "a:1"))(w, r)
	})
	r, u := newURL(t, URLConfig{URL: site.URL, Header: http.Header{
		"X-Token": {"a", "b"}, "Host": {"pods.example"},
	}})
	r.run(u.Run)
	r.untilPods("web-node-1=a:1")
	mu.Lock()
	defer mu.Unlock()
	if got := header["X-Token"]; !slices.Equal(got, []string{"a", "b"}) || host != "pods.example" {
		t.Errorf("X-Token, host = %q, %q, want [a b], pods.example", got, host)
	}
}

func TestPodFromURLKeepsItsIdentityWhenTheTokenChanges(t *testing.T) {
	site := newSite(t, text(podYAML("web", "a:1")))
	r, before := newURL(t, URLConfig{URL: site.URL + "/pods?token=old"})
	before.turn(t.Context())
	revision := r.Intake.Store.Revision()
	after, err := NewURL(URLConfig{URL: site.URL + "/pods?token=new", Sink: r.Sink})
	must(t, err)
	after.turn(t.Context())
	if got := r.Intake.Store.Revision(); got != revision {
		t.Errorf("revision = %d, want %d", got, revision)
	}
	view, _ := r.Intake.Store.View(node.Key{Namespace: "default", Name: "web-node-1"})
	if got := view.Slot.Pod.Object.Annotations["kubernetes.io/config.source"]; got != "http" {
		t.Errorf("config.source = %q, want http", got)
	}
}

func TestURLThatCannotBeRead(t *testing.T) {
	for _, address := range []string{"", "pods.example/list", "ftp://pods.example", "http://", "http://a b:secret@x"} {
		_, err := NewURL(URLConfig{URL: address})
		if !errors.Is(err, node.ErrInvalid) {
			t.Errorf("NewURL(%q) = %v, want an invalid URL", address, err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("NewURL(%q) tells the password: %v", address, err)
		}
	}
}
