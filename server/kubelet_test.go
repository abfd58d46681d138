package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func podList(t *testing.T, a answer) corev1.PodList {
	t.Helper()
	var list corev1.PodList
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || a.status != http.StatusOK {
		t.Fatalf("got %d %s: %v", a.status, a.body, err)
	}
	if list.Kind != "PodList" || list.APIVersion != "v1" {
		t.Errorf("got a %s of %s, want a PodList of v1", list.Kind, list.APIVersion)
	}
	return list
}

func TestPodsShowsAPodUntilItIsGone(t *testing.T) {
	n := newNode(t)
	if got := n.do(t, "GET", "/pods", ""); !strings.Contains(got.body, `"items":[]`) {
		t.Errorf("no pods: got %s, want an empty list", got.body)
	}
	n.apply(t, manifestOf("a"))
	n.apply(t, manifestOf("b"))
	n.run(t, "b", node.ContainerRunning)
	list := podList(t, n.do(t, "GET", "/pods", ""))
	if len(list.Items) != 2 || list.Items[1].Status.Phase != corev1.PodRunning || list.Items[1].Status.PodIP != "10.0.0.7" {
		t.Errorf("got %+v", list.Items)
	}
	n.do(t, "DELETE", "/v1/namespaces/default/pods/b", "")
	b := podList(t, n.do(t, "GET", "/pods", "")).Items[1]
	if b.DeletionTimestamp == nil || *b.DeletionGracePeriodSeconds != 30 || !b.DeletionTimestamp.Time.Equal(testNow.Add(30e9)) {
		t.Errorf("terminating: got %v and %v", b.DeletionTimestamp, b.DeletionGracePeriodSeconds)
	}
	n.forget(t, "b")
	if list := podList(t, n.do(t, "GET", "/pods", "")); len(list.Items) != 1 {
		t.Errorf("after the end: got %d pods, want 1", len(list.Items))
	}
}

func TestRunningPodsShowsWhatRuns(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("a"))
	n.apply(t, manifestOf("b"))
	n.run(t, "b", node.ContainerExited, node.ContainerRunning)
	list := podList(t, n.do(t, "GET", "/runningpods/", ""))
	if len(list.Items) != 1 || list.Items[0].Name != "b" || len(list.Items[0].Spec.Containers) != 1 {
		t.Errorf("got %+v, want b with its one running container", list.Items)
	}
}

func TestHealthzTellsWhichCheckFailed(t *testing.T) {
	sick := errors.New("the loop stands still")
	cases := []struct {
		path string
		err  error
		code int
		body string
	}{
		{"/healthz", nil, 200, "ok"},
		{"/healthz?verbose", nil, 200, "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n"},
		{"/healthz", sick, 500, "[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n"},
		{"/healthz?exclude=syncloop", sick, 200, "ok"},
		{"/healthz?verbose&exclude=syncloop", sick, 200, "[+]ping ok\n[+]log ok\n[+]syncloop excluded: ok\nhealthz check passed\n"},
		{"/healthz?verbose&exclude=x", nil, 200, "[+]ping ok\n[+]log ok\n[+]syncloop ok\nwarn: some health checks cannot be excluded: no matches for [\"x\"]\nhealthz check passed\n"},
		{"/healthz/ping", sick, 200, "ok"},
		{"/healthz/syncloop", nil, 200, "ok"},
		{"/healthz/syncloop", sick, 500, "internal server error: the loop stands still\n"},
		{"/healthz/nothing", nil, 404, "404: Page Not Found"},
	}
	for _, c := range cases {
		n := newNode(t, func(cfg *Config) { cfg.Healthy = func(context.Context) error { return c.err } })
		for _, method := range []string{"GET", "HEAD", "POST"} {
			if got := n.do(t, method, c.path, ""); got.status != c.code || got.body != c.body {
				t.Errorf("%s %s with %v: got %d %q, want %d %q", method, c.path, c.err, got.status, got.body, c.code, c.body)
			}
		}
	}
}

func TestRequestsWithoutCredentialsAreRefused(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Auth = newAuth(t, false) })
	for _, path := range []string{"/", "/pods", "/healthz", "/v1/pods", "/v1/pods:watch", "/openapi.json", "/nothing"} {
		if got := n.do(t, "GET", path, ""); got.status != http.StatusUnauthorized {
			t.Errorf("%s: got %d %s, want 401", path, got.status, got.body)
		}
	}
}

func TestPagesOfOtherSitesChangeNothing(t *testing.T) {
	n := newNode(t)
	got := n.do(t, "POST", "/v1/manifests", manifestOf("web"), "Origin", "https://evil.test", "Sec-Fetch-Site", "cross-site")
	if got.status != http.StatusForbidden {
		t.Errorf("a post from another site: got %d %s, want 403", got.status, got.body)
	}
	if got := n.do(t, "GET", "/v1/pods", ""); strings.Contains(got.body, "web") {
		t.Errorf("the pod is there: %s", got.body)
	}
}

func TestALoopbackPortListensToLocalNamesOnly(t *testing.T) {
	n := newNode(t)
	serve := func(local, host string) int {
		address, err := net.ResolveTCPAddr("tcp", local)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("GET", "/pods", nil)
		r.Host = host
		r = r.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(address)))
		w := httptest.NewRecorder()
		n.server.ReadOnly().ServeHTTP(w, r)
		return w.Code
	}
	cases := []struct {
		local, host string
		want        int
	}{
		{"127.0.0.1:10255", "localhost:10255", 200},
		{"127.0.0.1:10255", "127.0.0.1:10255", 200},
		{"[::1]:10255", "[::1]:10255", 200},
		{"[::1]:10255", "[::1]", 200},
		{"127.0.0.1:10255", "evil.test:10255", 421},
		{"192.0.2.1:10255", "node1.example.com:10255", 200},
	}
	for _, c := range cases {
		if got := serve(c.local, c.host); got != c.want {
			t.Errorf("Host %s on %s: got %d, want %d", c.host, c.local, got, c.want)
		}
	}
}

func hundredPods(b *testing.B) *node1 {
	n := newNode(b)
	for i := range 100 {
		name := fmt.Sprintf("pod-%d", i)
		n.apply(b, manifestOf(name))
		n.run(b, name, node.ContainerRunning)
	}
	return n
}

func BenchmarkPodsOf100(b *testing.B) {
	n := hundredPods(b)
	for b.Loop() {
		n.do(b, "GET", "/pods", "")
	}
}

func BenchmarkPodsOf100AllChanged(b *testing.B) {
	n := hundredPods(b)
	for b.Loop() {
		for i := range 100 {
			n.run(b, fmt.Sprintf("pod-%d", i), node.ContainerRunning)
		}
		n.do(b, "GET", "/pods", "")
	}
}

func BenchmarkListPodsOf100OverREST(b *testing.B) {
	n := hundredPods(b)
	for b.Loop() {
		n.do(b, "GET", "/v1/pods", "")
	}
}
