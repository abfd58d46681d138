package server

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/server/kube"
	"nodal/server/method"
)

// declared is one line of testdata/routes.txt.
type declared struct {
	verb, path, right, scope string
	on                       []string
	method, kind             string // of gRPC, and what it is about; empty for a path of the kubelet
	pattern                  string // the path, or of a call the one by which it is known
	stream                   bool
	kube                     bool // a path of the Kubernetes API: its calls leave entries of their own
}

// trial is one line, asked for in a namespace.
type trial struct {
	declared
	namespace string
}

// readTable reads the golden file. TestEveryPathAndMethodIsInTheGoldenFile holds it to the protos.
func readTable(t *testing.T) (all []declared) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "routes.txt"))
	if err != nil {
		t.Fatal(err)
	}
	serving := map[string]method.Method{}
	for _, m := range methods(t) {
		serving["gRPC "+m.Name] = m
		for _, p := range m.Paths {
			serving[p.Verb+" "+p.Pattern] = m
		}
	}
	kubernetes := map[string]string{}
	for _, k := range kube.Routes(nil, nil) {
		kubernetes[k.Method+" "+k.Pattern] = k.Calls
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 5 {
			t.Fatalf("the line %q has %d words, want 5", line, len(f))
		}
		m := serving[f[0]+" "+f[1]]
		pattern := f[1]
		if f[0] == "gRPC" {
			pattern = patternOf(m)
		}
		if m.Name == nodev1.PodsService_ListPodsText_FullMethodName { // it has no path of its own
			pattern = "/v1/pods"
		}
		calls, isKube := kubernetes[f[0]+" "+f[1]]
		isKube = isKube || kube.IsSubresource(f[1])
		all = append(all, declared{f[0], f[1], f[2], f[3], strings.Split(f[4], ","), cmp.Or(m.Name, calls), m.Kind, pattern, m.Stream, isKube})
	}
	return append(all, undeclared(all)...)
}

// undeclared returns the verbs that the table does not list, for each of its paths.
func undeclared(table []declared) (more []declared) {
	listed, seen := map[string]bool{}, map[string]bool{}
	for _, d := range table {
		listed[d.verb+d.path] = true
	}
	for _, d := range table {
		if d.verb == "gRPC" || seen[d.path] || listed["*"+d.path] || strings.Contains(d.path, "}:") {
			continue // the others at {name}:restart are about a thing of that name
		}
		seen[d.path] = true
		for _, verb := range []string{"GET", "POST", "PUT", "DELETE", "PATCH"} {
			if !listed[verb+d.path] {
				more = append(more, declared{verb: verb, path: d.path, kube: d.kube})
			}
		}
	}
	return more
}

// verdict says how a request ends.
type verdict string

const (
	allowed verdict = "allowed"
	unknown verdict = "unknown caller"
	denied  verdict = "denied"
	absent  verdict = "not served"
)

// verdictOf says what a request has to come to, from what is declared of it and of its caller alone.
func verdictOf(c caller, d door, r trial) verdict {
	switch {
	case d.open:
		if slices.Contains(r.on, d.listener) && (r.verb == "GET" || r.verb == "*") {
			return allowed
		}
		return absent
	case c.user == "":
		return unknown
	case r.right == "":
		return absent
	case !c.mayDo(r) || !c.mayBeIn(r):
		return denied
	}
	return allowed
}

// mayDo judges the right. A cluster's user has those that Kubernetes' verbs on the node give.
func (c caller) mayDo(r trial) bool {
	if c.inCluster == "" {
		return slices.Contains(strings.Fields(map[string]string{
			"viewer": "read", "operator": "read write exec", "admin": "read write exec admin",
		}[c.role]), r.right)
	}
	asks := map[string]string{"GET": "get", "*": "get", "POST": "create", "PUT": "update"}[r.verb]
	if r.method != "" { // of the API, reading and commands are all that a cluster's role opens
		asks = map[string]string{"read": "get"}[r.right]
	}
	if r.right == "exec" {
		asks = "create"
	}
	return asks == c.inCluster
}

// mayBeIn judges the namespace. What is about no namespace is not for narrowed callers, unless it is for everyone or
// shows them a part.
func (c caller) mayBeIn(r trial) bool {
	inside := slices.Contains(c.namespaces, r.namespace)
	switch {
	case len(c.namespaces) == 0 || r.scope == "everyone":
		return true
	case r.scope == "namespaces":
		return inside || !r.names()
	case r.scope == "manifests":
		return inside // by the method itself
	}
	return r.scope == "namespace" && inside && r.names()
}

// names reports whether the request names its namespace.
func (r trial) names() bool { return r.verb == "gRPC" || strings.Contains(r.path, "{namespace}") }

// target returns the path with names in place of the parameters.
func (r trial) target() string {
	path := r.path
	if r.kube && (strings.HasSuffix(path, "/exec") || strings.HasSuffix(path, "/attach")) {
		path += "?container=main"
	}
	path = strings.ReplaceAll(path, "{name}/proxy", "web:80/proxy") // without a port, the pod is read for one
	return strings.NewReplacer("{namespace}", r.namespace, "{pod}", "web", "{node}", "node1", "{name}", "web", "{container}", "main", "{uid}", "u1",
		"{kind}", "configmaps", "{profile}", "heap", "{check}", "ping", "{serial}", "1f").Replace(path)
}

// check makes one request, and holds its answer and its entries to what they have to be.
func (w *world) check(t *testing.T, c caller, d door, r trial) {
	t.Helper()
	want := verdictOf(c, d, r)
	got := d.ask(t, r)
	what := fmt.Sprintf("%s %s as %s by %s", r.verb, r.target(), c.name, d.name)
	if got.verdict() != want {
		t.Errorf("%s: %s (%s), want %s", what, got.verdict(), got, want)
	}
	if err := w.kept(c, d, r, want, got); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// outcome is the answer to one request: a code of HTTP, or of gRPC if that is 0.
type outcome struct {
	code int
	rpc  string
	text string
}

func (o outcome) String() string { return fmt.Sprintf("%d %s %.200q", o.code, o.rpc, o.text) }

func (o outcome) verdict() verdict {
	nowhere := o.code == http.StatusNotFound &&
		(strings.Contains(o.text, "there is no such path") || strings.Contains(o.text, "404: Page Not Found"))
	switch {
	case o.code == http.StatusUnauthorized || o.rpc == "Unauthenticated":
		return unknown
	case o.code == http.StatusForbidden || o.rpc == "PermissionDenied":
		return denied
	case nowhere || o.code == http.StatusMethodNotAllowed || o.rpc == "Unimplemented" && strings.HasPrefix(o.text, "unknown "):
		return absent
	}
	return allowed
}
