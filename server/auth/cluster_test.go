package auth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// cluster stands for a cluster that knows alice's token and lets her alone do some things.
// It cannot answer for a user called away.
type cluster struct{ allowed []Access }

var errAway = errors.New("the API server is away")

func (c cluster) Review(_ context.Context, token string) (Identity, bool, error) {
	switch token {
	case "alice", "away":
		return Identity{Name: token, Via: viaToken}, true, nil
	case "unanswered":
		return Identity{}, false, errAway
	}
	return Identity{}, false, nil
}

func (c cluster) Allows(_ context.Context, id Identity, to Access) (bool, error) {
	if id.Name == "away" {
		return false, errAway
	}
	for _, a := range c.allowed {
		if a == to && id.Name == "alice" {
			return true, nil
		}
	}
	return false, nil
}

func TestAClusterDecidesAboutItsUsers(t *testing.T) {
	f := newFixture(t, func(c *Config) {
		known := cluster{[]Access{{"get", "proxy"}, {"create", "metrics"}, {"get", "stats"}}}
		c.Tokens, c.Access, c.Anonymous = known, known, true
	})
	ok := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, c := range []struct {
		name, token, method, path string
		verb                      Verb
		code                      int
		body                      string
	}{
		{"what it allows", "alice", "GET", "/stats/summary", Read, 204, ""},
		{"the wide name is enough", "alice", "GET", "/pods", Read, 204, ""},
		{"another verb", "alice", "GET", "/metrics", Read, 403, "Forbidden (user=alice, verb=get, resource=nodes, subresource(s)=[metrics])"},
		{"a WebSocket's GET is an exec", "alice", "GET", "/exec/a/b/c", Exec, 403, "Forbidden (user=alice, verb=create, resource=nodes, subresource(s)=[proxy])"},
		{"a token of nobody's", "bob", "GET", "/pods", Read, 401, "Unauthorized"},
		{"a token about which nobody can tell", "unanswered", "GET", "/pods", Read, 401, "Unauthorized"},
		{"a right about which nobody can tell", "away", "GET", "/pods", Read, 500, "Authorization error (user=away, verb=get, resource=nodes, subresource=pods)"},
		{"nobody", "", "GET", "/pods", Read, 403, "Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[pods proxy])"},
		{"the node's own viewer", f.token(t, RoleViewer), "GET", "/metrics", Read, 204, ""},
		{"the node's own viewer, beyond its role", f.token(t, RoleViewer), "POST", "/metrics", Write, 403, "Forbidden (user=viewer, verb=create, resource=nodes, subresource(s)=[metrics])"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.path, nil)
			if c.token != "" {
				r.Header.Set("Authorization", "Bearer "+c.token)
			}
			w := httptest.NewRecorder()
			f.HTTP(f.Kubelet(Terms{Verb: c.verb}, ok)).ServeHTTP(w, r)
			if w.Code != c.code || w.Body.String() != c.body {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body, c.code, c.body)
			}
		})
	}
}

func TestAClusterOpensOnlyReadingAndExecOfTheAPI(t *testing.T) {
	all := cluster{[]Access{{"get", "proxy"}, {"create", "proxy"}}}
	f := newFixture(t, func(c *Config) { c.Tokens, c.Access = all, all })
	bearing := func(token string) context.Context {
		return metadata.NewIncomingContext(t.Context(), metadata.Pairs("authorization", "Bearer "+token))
	}
	socket := Identity{Name: "alice", Via: viaSocket}
	for _, c := range []struct {
		name   string
		ctx    context.Context
		method string
		want   codes.Code
	}{
		{"it reads", bearing("alice"), "/t.T/Get", codes.OK},
		{"it execs", bearing("alice"), "/t.T/Exec", codes.OK},
		{"it posts nothing", bearing("alice"), "/t.T/Apply", codes.PermissionDenied},
		{"a method that nobody classified stays closed", bearing("alice"), "/t.T/New", codes.PermissionDenied},
		{"what nobody can tell is not a refusal", bearing("away"), "/t.T/Get", codes.Unavailable},
		{"a user of this machine is not the cluster's of that name", peer.NewContext(t.Context(), &peer.Peer{AuthInfo: SocketInfo{Identity: socket}}), "/t.T/Get", codes.PermissionDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := f.Unary(terms)(c.ctx, nil, &grpc.UnaryServerInfo{FullMethod: c.method},
				func(context.Context, any) (any, error) { return nil, nil })
			if got := status.Code(err); got != c.want {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}
