package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// visit is a request of a browser that has signed in with a token, and its cookie.
func (f *fixture) visit(t *testing.T, token string) *http.Request {
	t.Helper()
	return f.signedIn(t, Proof{Token: token})
}

func (f *fixture) signedIn(t *testing.T, by Proof) *http.Request {
	t.Helper()
	r := httptest.NewRequest("GET", "https://node:10250/exec/default/web/main", nil)
	r.TLS = &tls.ConnectionState{}
	cookie, _, err := f.SignIn(r, by)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(cookie)
	return r
}

// open serves a request that lasts until its context ends, and hands out why it did.
func (f *fixture) open(t *testing.T, r *http.Request) <-chan error {
	ctx, cancel := context.WithCancel(r.Context())
	t.Cleanup(cancel)
	ended := make(chan error, 1)
	lasts := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		ended <- context.Cause(r.Context())
	})
	go f.HTTP(f.Kubelet(Terms{Verb: Exec}, lasts)).ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
	return ended
}

func TestWhatIsUnderWayEndsWithWhatItWasOpenedBy(t *testing.T) {
	byToken := func(f *fixture, t *testing.T) *http.Request {
		r := httptest.NewRequest("GET", "/exec/default/web/main", nil)
		r.Header.Set("Authorization", "Bearer "+f.token(t, RoleOperator))
		return r
	}
	bySession := func(f *fixture, t *testing.T) *http.Request { return f.visit(t, f.token(t, RoleOperator)) }
	old := func(f *fixture, t *testing.T) *http.Request {
		r := bySession(f, t)
		time.Sleep(sessionLife - 3*time.Second)
		return r
	}
	revoke := func(f *fixture, t *testing.T, _ *http.Request) {
		f.revoke(t, "operator")
	}
	demote := func(f *fixture, t *testing.T, _ *http.Request) {
		if _, err := Issue(f.material.TokenDir, "operator", RoleViewer, time.Now()); err != nil {
			t.Error(err)
		}
	}
	narrow := func(f *fixture, t *testing.T, _ *http.Request) {
		path := filepath.Join(f.material.TokenDir, "operator.json")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		writeGolden(t, path, strings.Replace(string(data), "operator", "viewer", 1))
	}
	confine := func(f *fixture, t *testing.T, _ *http.Request) {
		path := filepath.Join(f.material.TokenDir, "operator.json")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		writeGolden(t, path, strings.Replace(string(data), "}", `,"namespaces":["dev"]}`, 1))
	}
	byCertificate := func(f *fixture, t *testing.T) *http.Request {
		r := httptest.NewRequest("GET", "/exec/default/web/main", nil)
		r.TLS = &tls.ConnectionState{PeerCertificates: chain(t, filepath.Join(f.root, "credentials", "operator"))}
		return r
	}
	byItsSession := func(f *fixture, t *testing.T) *http.Request {
		ctx, _, err := f.identified(t.Context(), requestEvidence(byCertificate(f, t)))
		if err != nil {
			t.Fatal(err)
		}
		code, _, err := f.IssueCode(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return f.signedIn(t, Proof{Code: code})
	}
	revokeCertificate := func(f *fixture, t *testing.T, _ *http.Request) {
		serial := serialOf(chain(t, filepath.Join(f.root, "credentials", "operator"))[0])
		if _, err := f.RevokeCertificate(t.Context(), serial); err != nil {
			t.Error(err)
		}
	}
	byOldCertificate := func(f *fixture, t *testing.T) *http.Request {
		r := byCertificate(f, t)
		r.TLS.PeerCertificates = f.client(t, "nodal:operator")
		time.Sleep(leafLife - 2*time.Second)
		return r
	}
	signOut := func(f *fixture, t *testing.T, r *http.Request) {
		if _, err := f.SignOut(r); err != nil {
			t.Error(err)
		}
	}
	revokeByCall := func(f *fixture, t *testing.T, _ *http.Request) {
		if err := f.RevokeToken("operator"); err != nil {
			t.Error(err)
		}
	}
	soon := func(f *fixture, t *testing.T) *http.Request {
		r := httptest.NewRequest("GET", "/exec/default/web/main", nil)
		r.Header.Set("Authorization", "Bearer "+f.created(t, NewToken{Name: "ci", Role: RoleOperator, Lifetime: 2 * time.Second}))
		return r
	}
	soonVisit := func(f *fixture, t *testing.T) *http.Request {
		return f.visit(t, f.created(t, NewToken{Name: "ci", Role: RoleOperator, Lifetime: 2 * time.Second}))
	}
	nothing := func(*fixture, *testing.T, *http.Request) {}
	cases := []struct {
		name  string
		comes func(*fixture, *testing.T) *http.Request
		goes  func(*fixture, *testing.T, *http.Request)
		after time.Duration
		why   string
	}{
		{"a session that is signed out, at once", bySession, signOut, 0, "the session is over"},
		{"a session whose token is revoked", bySession, revoke, time.Second, "the session is over: its token was revoked"},
		{"a session whose token is revoked by a call, at once", bySession, revokeByCall, 0, "the session is over: its token was revoked"},
		{"a session whose token expires", soonVisit, nothing, 2 * time.Second, `token "ci" has expired`},
		{"a session that has grown old", old, nothing, 3 * time.Second, "the session is over"},
		{"a token that is revoked", byToken, revoke, time.Second, "the token was revoked"},
		{"a token that is revoked by a call, at once", byToken, revokeByCall, 0, "the token was revoked"},
		{"a token that expires", soon, nothing, 2 * time.Second, `token "ci" has expired`},
		{"a token that was replaced", byToken, demote, time.Second, "the token was revoked"},
		{"a token whose role is narrowed by hand", byToken, narrow, time.Second, "the rights of the caller have changed"},
		{"a token that is narrowed to a namespace by hand", byToken, confine, time.Second, "the rights of the caller have changed"},
		{"a certificate that is revoked, at once", byCertificate, revokeCertificate, 0, "the certificate was revoked"},
		{"a certificate that expires", byOldCertificate, nothing, 2 * time.Second, "x509: certificate has expired"},
		{"a session whose certificate is revoked, at once", byItsSession, revokeCertificate, 0, "the session is over: its certificate was revoked"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, nil)
				r := c.comes(f, t)
				ended, other := f.open(t, r), f.open(t, f.visit(t, f.token(t, RoleAdmin)))
				time.Sleep(rereadEvery * 3 / 2)
				c.goes(f, t, r)
				time.Sleep(c.after)
				synctest.Wait()
				select {
				case err := <-ended:
					if !errors.Is(err, errOver) || !strings.HasPrefix(err.Error(), c.why) {
						t.Errorf("it ends because of %v, want %s", err, c.why)
					}
				default:
					t.Error("it goes on")
				}
				if len(other) > 0 {
					t.Error("somebody else's ends as well")
				}
			})
		})
	}
}

func TestAStreamOfARevokedTokenIsUnauthenticated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		ended := make(chan error, 1)
		go func() {
			ended <- f.Stream(terms)(nil, stream{ctx: incoming(f, t, "token viewer")}, &grpc.StreamServerInfo{FullMethod: "/t.T/Get"},
				func(_ any, ss grpc.ServerStream) error { <-ss.Context().Done(); return ss.Context().Err() })
		}()
		synctest.Wait()
		f.revoke(t, "viewer")
		if got := status.Code(<-ended); got != codes.Unauthenticated {
			t.Errorf("got %v, want Unauthenticated", got)
		}
		if len(f.standing.held) != 0 {
			t.Error("it is still looked after")
		}
	})
}

func TestACommandToItsEndIsEndedWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		ctx := incomingToken(t, f.created(t, NewToken{Name: "ci", Role: RoleOperator}))
		ended := make(chan error, 1)
		go func() {
			_, err := f.Unary(terms)(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/t.T/Exec"},
				func(ctx context.Context, _ any) (any, error) { <-ctx.Done(); return nil, ctx.Err() })
			ended <- err
		}()
		synctest.Wait()
		if err := f.RevokeToken("ci"); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; status.Code(err) != codes.Unauthenticated {
			t.Errorf("got %v, want Unauthenticated", err)
		}
	})
}

func BenchmarkAStreamBeginsAndEnds(b *testing.B) {
	f := newFixture(b, nil)
	ctx, _, err := f.identified(b.Context(), evidence{authorization: "Bearer " + f.token(b, RoleViewer)})
	if err != nil {
		b.Fatal(err)
	}
	_, hold := f.stay(ctx)
	defer hold()
	b.ReportAllocs()
	for b.Loop() {
		_, done := f.stay(ctx)
		done()
	}
}
