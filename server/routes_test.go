package server

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nodal/server/auth"
	"nodal/server/kubeletapi"
	"nodal/server/method"
	"nodal/server/rest"
	"nodal/server/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// table returns the table of routes, with no services behind it.
func table(t *testing.T) []route {
	t.Helper()
	r, err := rest.New(nil, wire.BodyLimits{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := routes("node1", r, kubeletapi.Routes(kubeletapi.Config{}), methods(t), nil, &auth.Authenticator{}, wire.BodyLimits{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func methods(t *testing.T) []method.Method {
	t.Helper()
	all, err := method.All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The golden file shows in a diff that a right or a scope has changed, or a port that serves a path.
func TestEveryPathAndMethodIsInTheGoldenFile(t *testing.T) {
	var text strings.Builder
	for _, r := range table(t) {
		fmt.Fprintf(&text, "%-6s %-86s %-5s %-10s %s\n", r.method, r.pattern, r.right, r.scope, r.on)
	}
	for _, m := range methods(t) {
		fmt.Fprintf(&text, "%-6s %-86s %-5s %-10s %s\n", "gRPC", m.Name, m.Right, m.Scope, method.Full)
	}
	golden := filepath.Join("testdata", "routes.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := text.String(); got != string(want) {
		t.Errorf("%s is of another table (go test ./server -update writes it anew):\n%s", golden, got)
	}
}

func TestNoPathIsRoutedTwice(t *testing.T) {
	all := table(t)
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; a.pattern == b.pattern && a.method == b.method {
			t.Errorf("%s %s is routed twice", a.method, a.pattern)
		}
	}
}

func TestEveryMethodOfTheProtosIsServed(t *testing.T) {
	served := map[string]bool{}
	for service, info := range newNode(t).server.GRPC().GetServiceInfo() {
		for _, m := range info.Methods {
			served["/"+service+"/"+m.Name] = strings.HasPrefix(service, "node.v1.")
		}
	}
	for _, m := range methods(t) {
		if !served[m.Name] {
			t.Errorf("%s is in the protos and not served", m.Name)
		}
		delete(served, m.Name)
	}
	for name, ours := range served {
		if ours {
			t.Errorf("%s is served and in no proto", name)
		}
	}
}

func TestWhatTheReadOnlyPortServesIsOnlyReads(t *testing.T) {
	for _, r := range table(t) {
		if r.on&(method.ReadOnly|method.Health) != 0 && (r.right != "read" || r.method != "GET" && r.method != kubeletapi.AnyMethod) {
			t.Errorf("%s %s needs %s and is open to anybody", r.method, r.pattern, r.right)
		}
	}
}

func TestListenersServeTheirList(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	noDebug := newNode(t, func(c *Config) { c.Debug.NoHandlers = true })
	cases := []struct {
		name    string
		handler http.Handler
		method  string
		path    string
		want    int
		text    string
	}{
		{"the read-only port lists pods", n.server.ReadOnly(), "GET", "/pods", 200, `"name":"web"`},
		{"the read-only port lists pods of the API", n.server.ReadOnly(), "GET", "/v1/pods", 200, `"web"`},
		{"the read-only port takes no manifest", n.server.ReadOnly(), "POST", "/v1/manifests", 404, ""},
		{"the read-only port deletes nothing", n.server.ReadOnly(), "DELETE", "/v1/namespaces/default/pods/web", 405, ""},
		{"the read-only port runs nothing", n.server.ReadOnly(), "POST", "/run/default/web/main", 405, "Debug endpoints are disabled."},
		{"the read-only port shows no logs", n.server.ReadOnly(), "GET", "/containerLogs/default/web/main", 405, "Debug endpoints are disabled."},
		{"the read-only port shows no logs of the API", n.server.ReadOnly(), "GET", "/v1/namespaces/default/pods/web/containers/main/logs", 404, ""},
		{"the read-only port opens no watch", n.server.ReadOnly(), "GET", "/v1/pods:watch", 404, ""},
		{"the read-only port hides the configuration", n.server.ReadOnly(), "GET", "/configz", 404, ""},
		{"the read-only port lists its paths", n.server.ReadOnly(), "GET", "/", 200, "/pods"},
		{"the health port says ok", n.server.Healthz(), "HEAD", "/healthz", 200, ""},
		{"the health port says nothing else", n.server.Healthz(), "GET", "/pods", 404, ""},
		{"the full port lists its paths", n.server.HTTP(), "GET", "/", 200, "/containerLogs/"},
		{"the full port has the configuration", n.server.HTTP(), "GET", "/configz", 200, "kubeletconfig"},
		{"the full port describes itself", n.server.HTTP(), "GET", "/openapi.json", 200, "{"},
		{"debugging handlers can be off", noDebug.server.HTTP(), "GET", "/runningpods/", 405, "Debug endpoints are disabled."},
		{"debugging handlers can be off while pods are shown", noDebug.server.HTTP(), "GET", "/pods", 200, `"items":[]`},
		{"debugging handlers are on otherwise", n.server.HTTP(), "GET", "/runningpods/", 200, "PodList"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := ask(t, c.handler, c.method, c.path, "")
			if got.status != c.want || !strings.Contains(got.body, c.text) {
				t.Errorf("%s %s: got %d %q, want %d with %q", c.method, c.path, got.status, got.body, c.want, c.text)
			}
		})
	}
}

func TestAWrongMethodNamesTheRightOnes(t *testing.T) {
	n := newNode(t)
	got := n.do(t, "POST", "/pods", "")
	if allow := got.header.Values("Allow"); got.status != 405 || !slices.Equal(allow, []string{"GET"}) {
		t.Errorf("POST /pods: got %d allowing %v, want 405 allowing GET", got.status, allow)
	}
	got = n.do(t, "POST", "/v1/namespaces/default/pods/web", "")
	if allow := got.header.Values("Allow"); got.status != 405 || !slices.Equal(allow, []string{"DELETE", "GET", "PUT"}) {
		t.Errorf("POST on a pod: got %d allowing %v, want 405 allowing DELETE, GET and PUT", got.status, allow)
	}
}
