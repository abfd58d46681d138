package auth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"path/filepath"
	"testing"
)

func TestARequestProvesAnIdentity(t *testing.T) {
	type setting struct{ anonymous, alwaysAllow bool }
	root, other := Identity{Name: "uid:0", Role: RoleAdmin, Via: viaSocket}, Identity{Name: "uid:7", Via: viaSocket}
	for _, c := range []struct {
		name    string
		setting setting
		token   string // a role, or a wrong one
		socket  *Identity
		want    bool
	}{
		{"nothing", setting{}, "", nil, false},
		{"a viewer's token", setting{}, "viewer", nil, true},
		{"a wrong token", setting{}, "wrong", nil, false},
		{"a wrong token where everybody is welcome", setting{true, true}, "wrong", nil, false},
		{"nothing where everybody is welcome", setting{true, false}, "", nil, false},
		{"nothing where everybody is an admin", setting{true, true}, "", nil, true},
		{"root at the socket", setting{}, "", &root, true},
		{"a user without a role at the socket", setting{}, "", &other, false},
		{"a user without a role where everybody is an admin", setting{false, true}, "", &other, true},
		{"a user without a role, with a token", setting{}, "viewer", &other, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, func(cfg *Config) { cfg.Anonymous, cfg.AlwaysAllow = c.setting.anonymous, c.setting.alwaysAllow })
			r := httptest.NewRequest("POST", "/", nil)
			switch c.token {
			case "viewer":
				r.Header.Set("Authorization", "Bearer "+f.token(t, RoleViewer))
			case "wrong":
				r.Header.Set("Authorization", "Bearer wrong")
			}
			if c.socket != nil {
				r = r.WithContext(context.WithValue(r.Context(), socketKey{}, *c.socket))
			}
			if _, got := f.Knows(r); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

func TestACertificateProvesAnIdentity(t *testing.T) {
	f := newFixture(t, nil)
	_, client := foreign(t, "nodal:admin")
	for name, c := range map[string]struct {
		certs []*x509.Certificate
		want  bool
	}{
		"of the node's authority": {chain(t, filepath.Join(f.root, "credentials", "viewer")), true},
		"of another authority":    {client, false},
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.TLS = &tls.ConnectionState{PeerCertificates: c.certs}
		if _, got := f.Knows(r); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}
