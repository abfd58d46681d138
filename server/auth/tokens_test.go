package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"nodal/node"
)

// created makes a token and returns its secret.
func (f *fixture) created(t testing.TB, wanted NewToken) string {
	t.Helper()
	secret, _, err := f.CreateToken(NewContext(t.Context(), alice.Identity), wanted)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// shown returns one token of the list.
func (f *fixture) shown(t *testing.T, name string) Token {
	t.Helper()
	for _, one := range f.Tokens() {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("token %q is not listed", name)
	return Token{}
}

func TestACreatedTokenOpensUntilItIsRevoked(t *testing.T) {
	f := newFixture(t, nil)
	offer := evidence{authorization: "Bearer " + f.created(t, NewToken{Name: "ci", Role: RoleOperator})}
	id, err := f.identify(t.Context(), offer)
	if err != nil || id.Name != "ci" || id.Role != RoleOperator || id.Credential != f.shown(t, "ci").ID {
		t.Errorf("got %+v, %v; want ci, an operator", id, err)
	}
	if got := f.shown(t, "ci"); got.CreatedBy != "alice" || !got.Expires.IsZero() || got.LastUsed.IsZero() {
		t.Errorf("got %+v, want one that alice made, without an end, in use", got)
	}
	if err := f.RevokeToken("ci"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.identify(t.Context(), offer); !errors.Is(err, errUnknownToken) {
		t.Errorf("after it was revoked: %v, want %v", err, errUnknownToken)
	}
	if err := f.RevokeToken("ci"); !errors.Is(err, node.ErrNotFound) {
		t.Errorf("revoked again: %v, want not found", err)
	}
}

// incomingToken is the context of a call that shows a token.
func incomingToken(t *testing.T, secret string) context.Context {
	return metadata.NewIncomingContext(t.Context(), metadata.Pairs("authorization", "Bearer "+secret))
}

func TestNoSecretIsKept(t *testing.T) {
	f := newFixture(t, nil)
	secret := f.created(t, NewToken{Name: "ci", Role: RoleViewer, Lifetime: time.Hour})
	f.uses.save()
	err := filepath.WalkDir(filepath.Join(f.root, "pki"), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) || strings.Contains(string(data), strings.TrimPrefix(secret, tokenPrefix)) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(f.log.String(), secret) {
		t.Error("the log holds the secret")
	}
}

func TestWhatCannotBeCreated(t *testing.T) {
	f := newFixture(t, nil)
	f.created(t, NewToken{Name: "ci", Role: RoleViewer})
	for _, c := range []struct {
		name   string
		wanted NewToken
		kind   error
	}{
		{"a second one of a name", NewToken{Name: "ci", Role: RoleViewer}, node.ErrConflict},
		{"one of a first token's name", NewToken{Name: "admin", Role: RoleAdmin}, node.ErrConflict},
		{"a role that is none", NewToken{Name: "x", Role: "root"}, node.ErrInvalid},
		{"no role", NewToken{Name: "x"}, node.ErrInvalid},
		{"an admin of some namespaces", NewToken{Name: "x", Role: RoleAdmin, Namespaces: []string{"dev"}}, node.ErrInvalid},
		{"a namespace that is none", NewToken{Name: "x", Role: RoleViewer, Namespaces: []string{"dev", ""}}, node.ErrInvalid},
		{"all namespaces by a star", NewToken{Name: "x", Role: RoleViewer, Namespaces: []string{"*"}}, node.ErrInvalid},
		{"more namespaces than a request looks through", NewToken{Name: "x", Role: RoleViewer, Namespaces: slices.Repeat([]string{"dev"}, 65)}, node.ErrInvalid},
		{"one that has expired already", NewToken{Name: "x", Role: RoleViewer, Lifetime: -time.Second}, node.ErrInvalid},
		{"no name", NewToken{Role: RoleViewer}, node.ErrInvalid},
		{"a name that leads out of the directory", NewToken{Name: "../x", Role: RoleViewer}, node.ErrInvalid},
		{"a name with a slash", NewToken{Name: "a/b", Role: RoleViewer}, node.ErrInvalid},
		{"a name that hides the file", NewToken{Name: ".x", Role: RoleViewer}, node.ErrInvalid},
		{"a name with a line of its own", NewToken{Name: "a\nb", Role: RoleViewer}, node.ErrInvalid},
		{"a name with a zero byte", NewToken{Name: "a\x00", Role: RoleViewer}, node.ErrInvalid},
		{"a name that looks like another", NewToken{Name: "аdmin", Role: RoleViewer}, node.ErrInvalid},
		{"a name that is too long", NewToken{Name: strings.Repeat("a", 64), Role: RoleViewer}, node.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(f.Tokens())
			if _, _, err := f.CreateToken(t.Context(), c.wanted); !errors.Is(err, c.kind) {
				t.Errorf("got %v, want %v", err, c.kind)
			}
			if got := len(f.Tokens()); got != before {
				t.Errorf("there are %d tokens, want %d", got, before)
			}
		})
	}
	for _, name := range []string{"../ca", "a/b", ""} {
		if err := f.RevokeToken(name); !errors.Is(err, node.ErrInvalid) {
			t.Errorf("revoke %q: %v, want invalid", name, err)
		}
	}
}

func TestAnExpiredTokenIsRefusedAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		secret := f.created(t, NewToken{Name: "ci", Role: RoleViewer, Lifetime: time.Hour})
		ask := func(token string) *httptest.ResponseRecorder {
			r, w := httptest.NewRequest("GET", "/pods", nil), httptest.NewRecorder()
			r.Header.Set("Authorization", "Bearer "+token)
			f.Authenticator.HTTP(f.Kubelet(Terms{Verb: Read}, http.NotFoundHandler()), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				writeText(w, http.StatusUnauthorized, Refused(r))
			})).ServeHTTP(w, r)
			return w
		}
		if got := ask(secret); got.Code != http.StatusNotFound {
			t.Errorf("in time: got %d %s", got.Code, got.Body)
		}
		time.Sleep(time.Hour)
		const why = `token "ci" has expired at 2000-01-01T01:00:00Z`
		if got := ask(secret); got.Code != http.StatusUnauthorized || !strings.Contains(got.Body.String(), why) {
			t.Errorf("afterwards: got %d %s, want 401 and %q", got.Code, got.Body, why)
		}
		if got := ask(secret[:len(secret)-1] + "!"); got.Body.String() != "Unauthorized" {
			t.Errorf("another secret is told %q", got.Body)
		}
		_, _, err := f.admit(incomingToken(t, secret), Call{Method: "/t.T/Get"}, terms["/t.T/Get"].Verb)
		if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), why) {
			t.Errorf("over gRPC: %v, want Unauthenticated and %q", err, why)
		}
		if _, _, err := f.SignIn(httptest.NewRequest("POST", "/ui/session", nil), Proof{Token: secret}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("a browser: %v, want %q", err, why)
		}
		if got := f.shown(t, "ci"); !got.Expired {
			t.Errorf("listed as %+v, want it expired", got)
		}
		again := f.created(t, NewToken{Name: "ci", Role: RoleViewer, Lifetime: time.Hour})
		if got := ask(again); got.Code != http.StatusNotFound {
			t.Errorf("its successor: got %d %s", got.Code, got.Body)
		}
	})
}

func TestATokenExpiresByTheClockAndByTheTimeThatPasses(t *testing.T) {
	read := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	lasting := &knownToken{record: tokenRecord{Expires: read.Add(time.Hour)}, read: read}
	ended := &knownToken{record: tokenRecord{Expires: read.Add(-time.Hour)}, read: read}
	for _, c := range []struct {
		name   string
		token  *knownToken
		clock  time.Duration // since the record was read, by the clock of the machine
		passed time.Duration
		want   bool
	}{
		{"in its time", lasting, 59 * time.Minute, 59 * time.Minute, false},
		{"at its end", lasting, time.Hour, time.Hour, true},
		{"the clock was set forward over its end", lasting, 2 * time.Hour, time.Minute, true},
		{"the clock was set forward and back again", lasting, time.Minute, time.Minute, false},
		{"the clock was set back, its time has passed", lasting, -time.Hour, time.Hour, true},
		{"the clock was set back, its time has not passed", lasting, -time.Hour, 59 * time.Minute, false},
		{"it was read after its end", ended, time.Minute, time.Minute, true},
		{"it was read by a clock that was ahead", ended, -2 * time.Hour, time.Minute, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.token.over(read.Add(c.clock), c.passed); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

func TestATokenInAQueryIsNoCredential(t *testing.T) {
	f := newFixture(t, nil)
	secret := f.created(t, NewToken{Name: "ci", Role: RoleAdmin})
	for _, name := range []string{"token", "access_token", "bearer", "authorization", "Authorization"} {
		r := httptest.NewRequest("GET", "/pods?"+name+"="+secret, nil)
		if id, err := f.identify(t.Context(), requestEvidence(r)); err == nil {
			t.Errorf("?%s= makes the caller %+v", name, id)
		}
	}
}

func TestARecordThatNarrowsAnAdminDoesNotCount(t *testing.T) {
	f := newFixture(t, nil)
	secret := f.created(t, NewToken{Name: "ci", Role: RoleOperator, Namespaces: []string{"test", "dev", "dev"}})
	id, err := f.identify(t.Context(), evidence{authorization: "Bearer " + secret})
	if err != nil || !slices.Equal(id.Namespaces, []string{"dev", "test"}) {
		t.Errorf("got %+v, %v; want one of dev and test", id, err)
	}
	path := filepath.Join(f.material.TokenDir, "ci.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	writeGolden(t, path, strings.Replace(string(data), "operator", "admin", 1))
	f.tokens.renew(time.Now())
	if id, err := f.identify(t.Context(), evidence{authorization: "Bearer " + secret}); err == nil {
		t.Errorf("got %+v, want the record refused", id)
	}
}

func TestARecordIsReadAgainOnlyIfItsFileChanges(t *testing.T) {
	f := newFixture(t, nil)
	before := f.tokens.renew(time.Now())
	if again := f.tokens.renew(time.Now()); again != before {
		t.Error("unchanged files make another list")
	}
	path := filepath.Join(f.material.TokenDir, "operator.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var record tokenRecord
	if err := json.Unmarshal(data, &record); err != nil {
		t.Fatal(err)
	}
	writeGolden(t, path, strings.Replace(string(data), "operator", "viewer", 1)) // in place, as an editor does
	after := f.tokens.renew(time.Now())
	if got := after.byName["operator"].id.Role; got != RoleViewer {
		t.Errorf("got role %q, want viewer", got)
	}
	if after.byName["admin"] != before.byName["admin"] {
		t.Error("the record of another token was read again")
	}
}

func TestTheLastUseIsKeptOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		secret := f.created(t, NewToken{Name: "ci", Role: RoleViewer})
		time.Sleep(90 * time.Second)
		if _, err := f.identify(t.Context(), evidence{authorization: "Bearer " + secret}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(f.material.TokenUseFile); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a request has written to the disk (%v)", err)
		}
		time.Sleep(keepUses)
		synctest.Wait()
		next, err := New(f.cfg)
		if err != nil {
			t.Fatal(err)
		}
		want := time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)
		if got := next.tokens.get(time.Now()).byName["ci"].use.at(); !got.Equal(want) {
			t.Errorf("last used at %s, want %s", got, want)
		}
	})
}

// many is a directory with ten thousand tokens, the most that a node takes.
func many(t testing.TB) *fixture {
	f := newFixture(t, nil)
	for i := range maxTokens - len(f.Tokens()) {
		record := fmt.Sprintf(`{"role":"viewer","sha256":"%064x","created":"2026-05-01T12:00:00Z"}`, i)
		if err := os.WriteFile(filepath.Join(f.material.TokenDir, fmt.Sprintf("t%d.json", i)), []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestTenThousandTokensAreTheMost(t *testing.T) {
	f := many(t)
	if _, err := f.identify(t.Context(), evidence{authorization: "Bearer " + f.token(t, RoleViewer)}); err != nil {
		t.Error(err)
	}
	f.tokens.renew(time.Now())
	if _, _, err := f.CreateToken(t.Context(), NewToken{Name: "more", Role: RoleViewer}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one more: %v, want ResourceExhausted", err)
	}
	if err := f.RevokeToken("t7"); err != nil {
		t.Fatal(err)
	}
	f.created(t, NewToken{Name: "more", Role: RoleViewer})
}

func BenchmarkIdentify(b *testing.B) {
	for name, f := range map[string]*fixture{"three tokens": newFixture(b, nil), "ten thousand": many(b)} {
		b.Run(name, func(b *testing.B) {
			offer := evidence{authorization: "Bearer " + f.token(b, RoleViewer)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.identify(b.Context(), offer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
