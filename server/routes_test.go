package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// table is the table of routes without anything behind it.
func table() []route { return routes(&rest{}, &kubelet{}) }

func TestTheTableOfRoutesIsSortedAndHasNoDoubles(t *testing.T) {
	name := func(r route) string { return r.pattern + " " + r.method }
	all := table()
	for i := 1; i < len(all); i++ {
		if before, this := name(all[i-1]), name(all[i]); before >= this {
			t.Errorf("%q comes before %q", before, this)
		}
	}
}

func TestEveryMethodHasAVerbAndEveryVerbAMethod(t *testing.T) {
	n := newNode(t)
	known := verbs()
	registered := map[string]bool{}
	for service, info := range n.server.GRPC().GetServiceInfo() {
		for _, method := range info.Methods {
			full := "/" + service + "/" + method.Name
			registered[full] = true
			if strings.HasPrefix(service, "node.v1.") && known[full] == "" {
				t.Errorf("%s has no verb", full)
			}
		}
	}
	for full := range known {
		if !registered[full] {
			t.Errorf("%s has a verb and is not registered", full)
		}
	}
}

// TestEveryAnnotatedMethodIsRouted reads the HTTP paths from the protos.
func TestEveryAnnotatedMethodIsRouted(t *testing.T) {
	type line struct {
		method, pattern string
	}
	want := map[line]string{}
	for full := range verbs() {
		_, rules := rulesOf(full)
		for _, rule := range rules {
			method, pattern := ruleOf(rule)
			want[line{method, pattern}] = full
		}
	}
	for _, r := range table() {
		if !strings.HasPrefix(r.pattern, "/v1/") {
			continue
		}
		full, ok := want[line{r.method, r.pattern}]
		if !ok {
			t.Errorf("%s %s is routed and in no proto", r.method, r.pattern)
			continue
		}
		if got := verbs()[full]; got != r.verb {
			t.Errorf("%s %s: the table says %s, the method %s", r.method, r.pattern, r.verb, got)
		}
		delete(want, line{r.method, r.pattern})
	}
	for l, full := range want {
		t.Errorf("%s %s of %s is not routed", l.method, l.pattern, full)
	}
}

func TestWhatTheReadOnlyPortServesIsOnlyReads(t *testing.T) {
	for _, r := range table() {
		if r.on&(listenReadOnly|listenHealth) != 0 && (r.verb != "read" || r.method != "GET" && r.method != anyMethod) {
			t.Errorf("%s %s needs %s and is open to anybody", r.method, r.pattern, r.verb)
		}
	}
}

func TestListenersServeTheirList(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	noDebug := newNode(t, func(c *Config) { c.Limits.NoDebug = true })
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

func TestAWrongMethodIsToldTheRightOnes(t *testing.T) {
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
