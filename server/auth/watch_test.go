package auth

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// watched returns a fixture whose files are watched.
func watched(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.Watch(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	eventually(t, "a watch", f.pace.watched.Load)
	return f
}

// atOnce is much less than what the clock alone would take.
const atOnce = watchedEvery / 4

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(atOnce); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there is not: %s", what)
		}
	}
}

func (f *fixture) counts(token string) bool {
	_, err := f.identify(context.Background(), evidence{authorization: "Bearer " + token})
	return err == nil
}

func TestAWatchEndsWhatWasOpenedByARemovedFileAtOnce(t *testing.T) {
	f := watched(t)
	r := httptest.NewRequest("GET", "/exec/default/web/main", nil)
	secret := f.token(t, RoleOperator)
	r.Header.Set("Authorization", "Bearer "+secret)
	ended := f.open(t, r)
	eventually(t, "a stream", func() bool { f.standing.mu.Lock(); defer f.standing.mu.Unlock(); return len(f.standing.held) == 1 })
	if err := os.Remove(filepath.Join(f.material.TokenDir, "operator.json")); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, errOver) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(atOnce):
		t.Fatal("it goes on")
	}
	if f.counts(secret) {
		t.Error("the token still counts")
	}
}

func TestAWatchFollowsATokenDirectoryThatIsReplaced(t *testing.T) {
	f := watched(t)
	secret, dir := f.token(t, RoleViewer), f.material.TokenDir
	if !f.counts(secret) {
		t.Fatal("the token does not count")
	}
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the token", func() bool { return !f.counts(secret) })
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a watch of the new directory", f.pace.watched.Load)
	for _, name := range []string{"first", "second"} {
		made, err := Issue(dir, name, RoleViewer, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the token "+name, func() bool { return f.counts(made) })
	}
}

func TestAWatchNoticesARevokedCertificateInItsFile(t *testing.T) {
	f := watched(t)
	certs := chain(t, filepath.Join(f.root, "credentials", "viewer"))
	if _, err := f.identify(t.Context(), evidence{certs: certs}); err != nil {
		t.Fatal(err)
	}
	writeGolden(t, f.material.RevokedFile, `{"`+serialOf(certs[0])+`": {"revoked": "2026-01-01T00:00:00Z"}}`)
	eventually(t, "the end of the certificate", func() bool {
		_, err := f.identify(context.Background(), evidence{certs: certs})
		return err != nil
	})
}

func TestTheAgentsOwnNotesAreNoChangeOfCredentials(t *testing.T) {
	f := newFixture(t, nil)
	for path, want := range map[string]bool{
		filepath.Join(f.material.TokenDir, "ci.json"):  true,
		filepath.Join(f.material.TokenDir, ".ci.json"): true,
		filepath.Join(f.material.TokenDir, "x.tmp"):    false,
		f.material.TokenDir:                            true,
		f.material.CAFile:                              true,
		f.material.RevokedFile:                         true,
		f.material.SessionFile:                         false,
		f.material.TokenUseFile:                        false,
	} {
		if got := f.concerns(path); got != want {
			t.Errorf("%s: got %t", path, got)
		}
	}
}
