package server

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/server/auth"
	"nodal/server/inproc"
	"nodal/server/kube"
	"nodal/server/kubeletapi"
	"nodal/server/method"
	"nodal/server/metrics"
	"nodal/server/rest"
	"nodal/server/wire"
)

// arrived names where a request has come to: a method of the API, or a path of the kubelet's own.
type arrived struct {
	name  string
	right auth.Verb
	on    method.Listeners
}

// arrivals is the server with all of its routing and authorization, and notes in place of services and handlers.
type arrivals struct {
	table    []route
	handlers map[method.Listeners]http.Handler
	seen     []arrived
}

func newArrivals(tb testing.TB) *arrivals {
	tb.Helper()
	api, err := method.All()
	if err != nil {
		tb.Fatal(err)
	}
	a := &arrivals{handlers: map[method.Listeners]http.Handler{}}
	guard := newAuth(tb, false)
	handlers, err := rest.New(a.local(api, guard), wire.BodyLimits{Bytes: 4 << 10})
	if err != nil {
		tb.Fatal(err)
	}
	own := kubeletapi.Routes(kubeletapi.Config{})
	for i, k := range own {
		own[i].Handler = func(http.ResponseWriter, *http.Request) { a.note(k.Method+" "+k.Pattern, k.Right, k.On) }
	}
	if a.table, err = routes("node1", handlers, own, api, a.local(api, guard), guard, wire.BodyLimits{Bytes: 4 << 10, Timeout: time.Minute}); err != nil {
		tb.Fatal(err)
	}
	front := Front{Auth: guard, Requests: metrics.NewAgent("node1", 0, nil)}
	for _, kind := range []method.Listeners{method.Full, method.ReadOnly, method.Health} {
		a.handlers[kind] = router{table: a.table, front: front}.serve(kind)
	}
	return a
}

func (a *arrivals) note(name string, right auth.Verb, on method.Listeners) {
	a.seen = append(a.seen, arrived{name, right, on})
}

// local is the connection inside the process, with the rights of the API and notes behind them.
func (a *arrivals) local(api []method.Method, guard *auth.Authenticator) *inproc.Conn {
	byName := map[string]method.Method{}
	for _, m := range api {
		byName[m.Name] = m
	}
	note := func(name string) error {
		a.note(name, byName[name].Right, byName[name].On)
		return status.Error(codes.Aborted, "noted")
	}
	unary := func(_ context.Context, _ any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		return nil, note(info.FullMethod)
	}
	stream := func(_ any, _ grpc.ServerStream, info *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
		return note(info.FullMethod)
	}
	terms := method.Terms(api)
	conn := inproc.New([]grpc.UnaryServerInterceptor{guard.Unary(terms), unary},
		[]grpc.StreamServerInterceptor{guard.Stream(terms), stream})
	newServices(Config{}.withDefaults(), nil).register(conn)
	return conn
}

// ask returns what a request of a role has come to at one kind of listener, and its answer. It reports false for what
// net/http itself refuses.
func (a *arrivals) ask(
	ctx context.Context, kind method.Listeners, role auth.Role, verb, target, body string,
) (*http.Request, []arrived, bool) {
	head := verb + " " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
	if err != nil || strings.ContainsAny(verb+target, "\r\n") {
		return nil, nil, false
	}
	if body != "" {
		withBody := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Body, r.ContentLength = withBody.Body, withBody.ContentLength
	}
	a.seen = nil
	id := auth.Identity{Name: "caller", Role: role, Via: "token"}
	w := httptest.NewRecorder()
	a.handlers[kind].ServeHTTP(w, r.WithContext(auth.NewContext(ctx, id)))
	return r, a.seen, true
}

var (
	fuzzedKinds = []method.Listeners{method.Full, method.ReadOnly, method.Health}
	fuzzedRoles = []auth.Role{auth.RoleNone, auth.RoleViewer, auth.RoleOperator, auth.RoleAdmin}
	// mayDo is written apart from auth.Allow.
	mayDo = map[auth.Role]string{
		auth.RoleNone: "", auth.RoleViewer: "read", auth.RoleOperator: "read write exec",
		auth.RoleAdmin: "read write exec admin",
	}
)

// FuzzRoutes holds that no request comes to a service or to a handler for which its role has no right, or which its
// listener does not serve, or whose pattern it does not match. A plain request that matches a pattern and has the right
// does come there.
func FuzzRoutes(f *testing.F) {
	a := newArrivals(f)
	fill := strings.NewReplacer("{", "", "}", "")
	for i, r := range a.table {
		f.Add(uint8(i), uint8(i), r.method, fill.Replace(r.pattern), "")
		f.Add(uint8(0), uint8(3), r.method, fill.Replace(r.pattern), `{"command":["ls"]}`)
	}
	f.Add(uint8(0), uint8(1), "GET", "/exec/a/b/c/../../../../pods?x=%zz", "")
	f.Add(uint8(1), uint8(0), "get", "//v1//pods%3awatch;x", "")
	f.Add(uint8(0), uint8(1), "POST", "http://other/v1/namespaces/a%2fb/pods/c%3Arestart", "")
	f.Add(uint8(2), uint8(1), "CONNECT", "localhost:1", "")
	f.Fuzz(func(t *testing.T, listener, caller uint8, verb, target, body string) {
		kind, role := fuzzedKinds[int(listener)%3], fuzzedRoles[int(caller)%4]
		r, seen, sound := a.ask(t.Context(), kind, role, verb, target, body)
		if !sound {
			return
		}
		at := matching(a.table, r)
		for _, s := range seen {
			if !strings.Contains(mayDo[role], string(s.right)) || s.right == "" {
				t.Errorf("%q %q of role %q came to %s, which takes the right %q", verb, target, role, s.name, s.right)
			}
			if s.on&kind == 0 {
				t.Errorf("%q %q on the %s listener came to %s, which is served on %s", verb, target, kind, s.name, s.on)
			}
			if len(at) == 0 {
				t.Errorf("%q %q came to %s and matches no pattern", verb, target, s.name)
			}
			for _, route := range at {
				looksFirst := s.right == auth.Read && kube.Serves(route.method+" "+route.pattern)
				if route.right != s.right && !looksFirst {
					t.Errorf("%q %q came to %s, with right %q, and matches %s, with right %q",
						verb, target, s.name, s.right, route.pattern, route.right)
				}
			}
		}
		if len(seen) > 1 {
			t.Errorf("%q %q came to %v, want one", verb, target, seen)
		}
		if want := len(at) == 1 && at[0].on&kind != 0 && at[0].right == auth.Read && role != auth.RoleNone; want &&
			isPlain(r, body) && !answersItself(at[0]) && len(seen) == 0 && !(kind == method.ReadOnly && kubeletapi.IsDebugging(at[0].pattern)) {
			t.Errorf("%q %q of role %q did not come to %s", verb, target, role, at[0].pattern)
		}
	})
}

// answersItself reports whether a path tells of the Kubernetes API, which is the same for everyone.
func answersItself(rt route) bool {
	return kube.Serves(rt.method+" "+rt.pattern) && rt.scope == auth.Everyone
}

// matching returns the routes that a request may be meant for, by a walk over the whole table, segment by segment.
func matching(table []route, r *http.Request) []route {
	var at []route
	for _, route := range table {
		if (route.method == r.Method || route.method == kubeletapi.AnyMethod) && fits(route.pattern, r.URL.EscapedPath()) {
			at = append(at, route)
		}
	}
	return at
}

func fits(pattern, path string) bool {
	patterns, parts := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(patterns) != len(parts) {
		return false
	}
	for i, p := range patterns {
		before, rest, named := strings.Cut(p, "{")
		_, after, _ := strings.Cut(rest, "}")
		if !named && p != parts[i] || !strings.HasPrefix(parts[i], before) || !strings.HasSuffix(parts[i], after) {
			return false
		}
	}
	return true
}

// isPlain reports whether only the path of a request can be a reason to refuse it.
func isPlain(r *http.Request, body string) bool {
	letters := func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '/' || c == '.' || c == ':' {
			return -1
		}
		return c
	}
	path := r.URL.EscapedPath()
	return body == "" && r.Method == http.MethodGet && r.URL.RawQuery == "" && !r.URL.ForceQuery &&
		strings.Map(letters, path) == "" && !strings.Contains(path+"/", "//")
}
