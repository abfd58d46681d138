package auth

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"nodal/node"
)

func TestHTTPAnswersLikeUpstream(t *testing.T) {
	kept := &diary{}
	f := newFixture(t, func(c *Config) { c.Anonymous, c.Audit = true, kept })
	ok := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	cases := []struct {
		name, method, path, token string
		verb                      Verb
		code                      int
		body                      string
	}{
		{"a viewer reads", "GET", "/pods", f.token(t, RoleViewer), Read, 204, ""},
		{"a wrong token is unauthorized", "GET", "/pods", "wrong", Read, 401, "Unauthorized"},
		{"anonymous is forbidden to read pods", "GET", "/pods", "", Read, 403,
			"Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[pods proxy])"},
		{"a viewer's WebSocket GET is an exec", "GET", "/exec/default/web/nginx", f.token(t, RoleViewer), Exec, 403,
			"Forbidden (user=viewer, verb=create, resource=nodes, subresource(s)=[proxy])"},
		{"a viewer may not run", "POST", "/run/default/web/nginx", f.token(t, RoleViewer), Exec, 403,
			"Forbidden (user=viewer, verb=create, resource=nodes, subresource(s)=[proxy])"},
		{"an operator runs", "POST", "/run/default/web/nginx", f.token(t, RoleOperator), Exec, 204, ""},
		{"an operator may not profile", "GET", "/debug/pprof/heap", f.token(t, RoleOperator), Admin, 403,
			"Forbidden (user=operator, verb=get, resource=nodes, subresource(s)=[proxy])"},
		{"logs of the node are called log", "GET", "/logs/syslog", "", Read, 403,
			"Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[log])"},
		{"a longer word is another path", "GET", "/statsx", "", Read, 403,
			"Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[proxy])"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.path, nil)
			if c.token != "" {
				r.Header.Set("Authorization", "Bearer "+c.token)
			}
			w := httptest.NewRecorder()
			f.HTTP(f.Kubelet(Terms{Verb: c.verb}, f.Audited(c.verb, ok))).ServeHTTP(w, r)
			if w.Code != c.code || w.Body.String() != c.body {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body, c.code, c.body)
			}
		})
	}
	for _, want := range []string{
		"begin operator exec POST /run/default/web/nginx", "end 204",
		"refuse viewer exec GET /exec/default/web/nginx 403",
		"refuse   GET /pods 401",
	} {
		kept.has(t, want)
	}
}

// diary keeps what an auditor is told, a line each. It can refuse requests.
type diary struct {
	mu     sync.Mutex
	lines  []string
	broken error
}

var _ Auditor = (*diary)(nil)

func (d *diary) write(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) Begin(c Call) (func(Ending), error) {
	d.write("begin %s %s %s", c.Identity.Name, c.Verb, c.Method)
	return func(e Ending) { d.write("end %s", e.Outcome) }, d.broken
}

func (d *diary) Refuse(c Call, outcome string) {
	d.write("refuse %s %s %s %s", c.Identity.Name, c.Verb, c.Method, outcome)
}

func (d *diary) has(t *testing.T, want string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.lines, want) {
		t.Errorf("the auditor was not told %q, but\n%s", want, strings.Join(d.lines, "\n"))
	}
}

// hijacked is a response writer that gives its connection away.
type hijacked struct {
	*httptest.ResponseRecorder
}

func (hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, nil }

func TestAnUpgradeIsAuditedAs101(t *testing.T) {
	kept := &diary{}
	f := newFixture(t, func(c *Config) { c.Audit = kept })
	r := httptest.NewRequest("GET", "/exec/default/web/nginx", nil)
	r.Header.Set("Authorization", "Bearer "+f.token(t, RoleAdmin))
	upgrade := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept.has(t, "begin admin exec GET /exec/default/web/nginx")
		if _, _, err := w.(http.Hijacker).Hijack(); err != nil {
			t.Error(err)
		}
	})
	f.HTTP(f.Kubelet(Terms{Verb: Exec}, f.Audited(Exec, upgrade))).ServeHTTP(hijacked{httptest.NewRecorder()}, r)
	kept.has(t, "end 101")
}

func TestARequestThatCannotBeAuditedDoesNotRun(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Audit = &diary{broken: errors.New("the disk is full")} })
	ctx := NewContext(t.Context(), Identity{Name: "root", Role: RoleAdmin})
	never := func() { t.Error("it ran") }
	errs := map[string]error{}
	_, errs["a call"] = f.Unary(terms)(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/t.T/Apply"},
		func(context.Context, any) (any, error) { never(); return nil, nil })
	errs["a stream"] = f.Stream(terms)(nil, stream{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: "/t.T/Exec"},
		func(_ any, ss grpc.ServerStream) error {
			if err := ss.RecvMsg(nil); err != nil {
				return err
			}
			never()
			return nil
		})
	_, _, errs["a code for a browser"] = f.IssueCode(ctx)
	for what, err := range errs {
		if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("%s: got %v, want UNAVAILABLE with the reason", what, err)
		}
	}
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "POST", "/run/default/web/nginx", nil)
	f.Audited(Exec, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { never() })).ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "the disk is full") {
		t.Errorf("a path of the kubelet: got %d %q, want 503 with the reason", w.Code, w.Body)
	}
}

func TestAStreamIsAuditedOnceWithItsFirstMessage(t *testing.T) {
	kept := &diary{}
	f := newFixture(t, func(c *Config) { c.Audit = kept })
	ctx := NewContext(t.Context(), Identity{Name: "root", Role: RoleAdmin})
	info := &grpc.StreamServerInfo{FullMethod: "/t.T/Exec"}
	for _, messages := range []int{0, 2} {
		err := f.Stream(terms)(nil, stream{ctx: ctx}, info, func(_ any, ss grpc.ServerStream) error {
			for range messages {
				if err := ss.RecvMsg(nil); err != nil {
					return err
				}
			}
			return status.Error(codes.Aborted, "over")
		})
		if status.Code(err) != codes.Aborted {
			t.Error(err)
		}
	}
	if want := []string{"begin root exec /t.T/Exec", "end Aborted"}; !slices.Equal(kept.lines, want) {
		t.Errorf("got %q, want %q", kept.lines, want)
	}
}

var terms = map[string]Terms{"/t.T/Get": {Verb: Read}, "/t.T/Apply": {Verb: Write}, "/t.T/Exec": {Verb: Exec}}

// incoming is the context of a call that offers a token or a certificate.
func incoming(f *fixture, t *testing.T, how string) context.Context {
	way, role, _ := strings.Cut(how, " ")
	switch way {
	case "token":
		return metadata.NewIncomingContext(t.Context(), metadata.Pairs("authorization", "Bearer "+f.token(t, Role(role))))
	case "certificate":
		var info credentials.TLSInfo
		info.State.PeerCertificates = chain(t, filepath.Join(f.root, "credentials", role))
		return peer.NewContext(t.Context(), &peer.Peer{AuthInfo: info})
	case "socket":
		return peer.NewContext(t.Context(), &peer.Peer{AuthInfo: SocketInfo{Identity: Identity{Name: "uid:0", Role: Role(role), Via: "socket"}}})
	case "context":
		return NewContext(t.Context(), Identity{Name: "via-http", Role: Role(role)})
	}
	return t.Context()
}

func TestCallsAreAdmittedByVerb(t *testing.T) {
	f := newFixture(t, nil)
	cases := []struct {
		name, who, method string
		want              codes.Code
	}{
		{"nobody is unauthenticated", "", "/t.T/Get", codes.Unauthenticated},
		{"a viewer's token reads", "token viewer", "/t.T/Get", codes.OK},
		{"a viewer's token does not write", "token viewer", "/t.T/Apply", codes.PermissionDenied},
		{"a viewer's certificate does not exec", "certificate viewer", "/t.T/Exec", codes.PermissionDenied},
		{"an operator's certificate execs", "certificate operator", "/t.T/Exec", codes.OK},
		{"root on the socket writes", "socket admin", "/t.T/Apply", codes.OK},
		{"an identity of the HTTP side is kept", "context viewer", "/t.T/Get", codes.OK},
		{"an identity of the HTTP side is held to its role", "context viewer", "/t.T/Apply", codes.PermissionDenied},
		{"a method that nobody classified is denied to admin too", "token admin", "/t.T/New", codes.PermissionDenied},
		{"health is a read", "token viewer", "/grpc.health.v1.Health/Check", codes.OK},
		{"reflection is a read", "token viewer", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", codes.OK},
		{"health is not for the unauthenticated", "", "/grpc.health.v1.Health/Check", codes.Unauthenticated},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ctx := incoming(f, t, c.who)
			known := func(ctx context.Context) error {
				if id, ok := From(ctx); !ok || id.Name == "" {
					t.Error("the handler does not know who calls")
				}
				return nil
			}
			_, err := f.Unary(terms)(ctx, nil, &grpc.UnaryServerInfo{FullMethod: c.method},
				func(ctx context.Context, _ any) (any, error) { return nil, known(ctx) })
			if got := status.Code(err); got != c.want {
				t.Errorf("unary: got %v, want %v", err, c.want)
			}
			err = f.Stream(terms)(nil, stream{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: c.method},
				func(_ any, ss grpc.ServerStream) error { return known(ss.Context()) })
			if got := status.Code(err); got != c.want {
				t.Errorf("stream: got %v, want %v", err, c.want)
			}
			if denied := errors.Is(err, node.ErrDenied); denied != (c.want == codes.PermissionDenied) {
				t.Errorf("the error is node.ErrDenied: %v", denied)
			}
		})
	}
}

type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s stream) Context() context.Context { return s.ctx }
func (s stream) RecvMsg(any) error        { return nil }

func TestStreamsAreBoundedPerIdentity(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.MaxStreams = 2 })
	open := func(who string, inside func()) error {
		return f.Stream(terms)(nil, stream{ctx: incoming(f, t, who)}, &grpc.StreamServerInfo{FullMethod: "/t.T/Get"},
			func(any, grpc.ServerStream) error { inside(); return nil })
	}
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	must(open("token viewer", func() {
		must(open("token viewer", func() {
			err := open("token viewer", func() { t.Error("a third stream ran") })
			if status.Code(err) != codes.ResourceExhausted || !errors.Is(err, node.ErrNotReady) {
				t.Errorf("got %v, want RESOURCE_EXHAUSTED", err)
			}
			must(open("token admin", func() {}))
		}))
		must(open("token viewer", func() {}))
	}))
	if len(f.Streams().open) != 0 {
		t.Errorf("still open: %v", f.Streams().open)
	}
}

func TestLogsAndProfilesOfTheKubeletsPathsCountAsStreams(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.MaxStreams = 1 })
	ask := func(path string, inside http.HandlerFunc) int {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
		r.Header.Set("Authorization", "Bearer "+f.token(t, RoleViewer))
		f.HTTP(f.Kubelet(Terms{Verb: Read}, inside)).ServeHTTP(w, r)
		return w.Code
	}
	never := func(http.ResponseWriter, *http.Request) { t.Error("a second stream ran") }
	for _, path := range []string{
		"/containerLogs/default/web/main?follow=true", "/debug/pprof/profile",
		"/api/v1/nodes/n/proxy/containerLogs/default/web/main?follow=true", "/api/v1/nodes/n/proxy/logs/messages",
		"/api/v1/namespaces/default/pods/web/log",
	} {
		code := ask(path, func(http.ResponseWriter, *http.Request) {
			if got := ask("/containerLogs/default/web/main", never); got != http.StatusTooManyRequests {
				t.Errorf("beside %s: got %d, want 429", path, got)
			}
			if got := ask("/pods", func(http.ResponseWriter, *http.Request) {}); got != http.StatusOK {
				t.Errorf("beside %s, what ends by itself: got %d, want 200", path, got)
			}
		})
		if code != http.StatusOK {
			t.Errorf("%s: got %d, want 200", path, code)
		}
	}
}
