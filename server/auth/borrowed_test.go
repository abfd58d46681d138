package auth

import (
	"context"
	"crypto/tls"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"
)

func TestALentSessionIsTheOnlyCredential(t *testing.T) {
	f := newFixture(t, nil)
	secret := begun(t, f.sessions, bob, time.Now())
	r := httptest.NewRequest("GET", "https://node/ui/open/x/", nil)
	r.Host, r.TLS = "node", &tls.ConnectionState{PeerCertificates: chain(t, filepath.Join(f.root, "credentials", "admin"))}
	r = r.WithContext(context.WithValue(r.Context(), socketKey{}, Identity{Name: "uid:0", Role: RoleAdmin, Via: viaSocket}))
	r.Header.Set("Authorization", "Bearer "+f.token(t, RoleOperator))

	lent := Borrowed{secret}.Lend(r)
	if id, err := f.identify(t.Context(), requestEvidence(lent)); err != nil || id.Name != "bob" || id.Via != viaSession {
		t.Errorf("the caller is %v, %v, want bob by the session", id, err)
	}
	if lent.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		t.Error("the connection is changed, or its encryption is lost")
	}
	if id, err := f.identify(t.Context(), requestEvidence(Borrowed{"ended"}.Lend(r))); err == nil {
		t.Errorf("a session that has ended: the caller is %v", id)
	}
}
