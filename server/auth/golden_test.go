package auth

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The files of tokens and sessions as the first agents wrote them.
const (
	goldenToken = `{"role":"viewer","sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",` +
		`"created":"2026-05-01T12:00:00Z"}` + "\n"
	goldenSessions = `{"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824":{"identity":{"Name":"alice",` +
		`"Role":"admin","Groups":["g"],"Via":"certificate","UID":"u","Extra":{"k":["v"]}},"token":"t","host":"node",` +
		`"expires":"2026-05-02T12:00:00Z"}}` + "\n"
)

func TestAGoldenTokenIsKnown(t *testing.T) {
	dir := t.TempDir()
	writeGolden(t, filepath.Join(dir, "bob.json"), goldenToken)
	list, err := loadTokens(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := list.identify("hello", day)
	if err != nil {
		t.Fatal(err)
	}
	if id := got.id; id.Name != "bob" || id.Role != RoleViewer || id.Namespaces != nil || id.Credential != "2cf24dba5fb0" {
		t.Errorf("got %+v, want bob, a viewer of the whole node", id)
	}
	if got.expired(day.Add(100 * 365 * 24 * time.Hour)) {
		t.Error("a token without an end has expired")
	}
}

func TestAGoldenSessionGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions")
	writeGolden(t, file, goldenSessions)
	s := newSessions(file, slog.New(slog.DiscardHandler))
	got, ok := s.find("hello", "node", day)
	if want := (Identity{Name: "alice", Role: RoleAdmin, Via: "certificate", UID: "u"}); !ok || got.Identity.Name != want.Name ||
		got.Identity.Role != want.Role || got.Identity.Via != want.Via || got.Identity.UID != want.UID ||
		len(got.Identity.Groups)+len(got.Identity.Extra) != 2 || got.Token != "t" || !got.Expires.Equal(day.Add(24*time.Hour)) {
		t.Errorf("got %+v, %t; want alice as she was", got, ok)
	}
	begun(t, s, alice, day) // which rewrites the file
	if again, ok := newSessions(file, slog.New(slog.DiscardHandler)).find("hello", "node", day); !ok || again.Identity.UID != "u" {
		t.Errorf("after another has begun: %+v, %t; want alice as she was", again, ok)
	}
}

// loadTokens reads a directory as the agent does at its start.
func loadTokens(dir string) (*tokenList, error) {
	d := tokenDir{path: dir, uses: newUses("", slog.New(slog.DiscardHandler))}
	return d.load()
}

func writeGolden(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
