package auth

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	alice = pass{Identity: Identity{Name: "alice", Via: "certificate", Role: RoleAdmin}, Host: "node"}
	bob   = pass{Identity: Identity{Name: "bob", Via: "certificate", Role: RoleViewer}, Host: "node"}
	day   = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
)

func begun(t *testing.T, s *sessions, p pass, at time.Time) string {
	t.Helper()
	secret, _, err := s.begin(p, at)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestACodeIsGoodOnceAndForAWhile(t *testing.T) {
	s := newSessions("", slog.New(slog.DiscardHandler))
	code, _ := s.issueCode(alice, day)
	if got, ok := s.redeem(code, day.Add(codeLife-1)); !ok || got.Identity.Name != "alice" {
		t.Errorf("got %v, %v", got, ok)
	}
	if _, ok := s.redeem(code, day); ok {
		t.Error("it was good twice")
	}
	code, _ = s.issueCode(alice, day)
	if _, ok := s.redeem(code, day.Add(codeLife)); ok {
		t.Error("it was good too long")
	}
}

func TestSessionsEnd(t *testing.T) {
	s := newSessions("", slog.New(slog.DiscardHandler))
	secret := begun(t, s, alice, day)
	cases := []struct {
		name, secret, host string
		at                 time.Time
		want               bool
	}{
		{"it lasts", secret, "node", day.Add(sessionLife - 1), true},
		{"not for ever", secret, "node", day.Add(sessionLife), false},
		{"not under another name", secret, "evil.test", day, false},
		{"not by its hash", hashOf(secret), "node", day, false},
	}
	for _, c := range cases {
		if _, ok := s.find(c.secret, c.host, c.at); ok != c.want {
			t.Errorf("%s: got %v", c.name, ok)
		}
	}
	if err := s.end(secret); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.find(secret, "node", day); ok {
		t.Error("it lasts after it was ended")
	}
}

func TestManySessionsOfAUserEndTheirOldest(t *testing.T) {
	s := newSessions("", slog.New(slog.DiscardHandler))
	other := begun(t, s, bob, day)
	var secrets []string
	for i := range sessionsEach + 1 {
		secrets = append(secrets, begun(t, s, alice, day.Add(time.Duration(i)*time.Second)))
	}
	now := day.Add(time.Minute)
	for i, want := range []bool{false, true} {
		if _, ok := s.find(secrets[i], "node", now); ok != want {
			t.Errorf("session %d: got %v, want %v", i, ok, want)
		}
	}
	if _, ok := s.find(other, "node", now); !ok {
		t.Error("somebody else's session was taken")
	}
	for i := range sessionsAll {
		p := alice
		p.Identity.Name = fmt.Sprint("user", i)
		if _, _, err := s.begin(p, now); err != nil {
			return
		}
	}
	t.Error("there is no end to them")
}

func TestSessionsOutliveTheAgentAndTheirSecretsAreNotKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions.json")
	secret := begun(t, newSessions(file, slog.New(slog.DiscardHandler)), alice, day)
	if got, ok := newSessions(file, slog.New(slog.DiscardHandler)).find(secret, "node", day); !ok || got.Identity.Role != RoleAdmin {
		t.Errorf("got %v, %v", got, ok)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), secret) {
		t.Error("the secret is on the disk")
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := newSessions(file, slog.New(slog.DiscardHandler)).find(secret, "node", day); ok {
		t.Error("a broken file has a session")
	}
}

func TestASessionEndsWithTheTokenThatItCameFrom(t *testing.T) {
	f := newFixture(t, nil)
	visit := func() *http.Request {
		r := httptest.NewRequest("GET", "https://node:10250/v1/pods", nil)
		r.TLS = &tls.ConnectionState{}
		return r
	}
	cookie, id, err := f.SignIn(visit(), Proof{Token: f.token(t, RoleOperator)})
	if err != nil || id.Role != RoleOperator || id.Via != viaSession {
		t.Fatalf("got %v, %v", id, err)
	}
	known := func(at time.Time) bool {
		r := visit()
		r.AddCookie(cookie)
		e := requestEvidence(r)
		_, _, err := f.browser(e, at)
		return err == nil
	}
	if !known(time.Now()) {
		t.Error("it does not begin")
	}
	f.revoke(t, "operator")
	if known(time.Now().Add(time.Second)) {
		t.Error("it goes on after the token was revoked")
	}
}
