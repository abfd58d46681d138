package auth

import (
	"bytes"
	"context"
	"crypto/x509"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fixture is a node's credentials and an authenticator over them.
type fixture struct {
	*Authenticator
	material Material
	root     string
	log      *bytes.Buffer
}

func newFixture(t testing.TB, change func(*Config)) *fixture {
	t.Helper()
	root := t.TempDir()
	m, err := Bootstrap(Dirs{Root: root}, []string{"node-1", "10.0.0.7"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{material: *m, root: root, log: &bytes.Buffer{}}
	cfg := Config{Material: *m, Log: slog.New(slog.NewTextHandler(f.log, nil))}
	if change != nil {
		change(&cfg)
	}
	if f.Authenticator, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return f
}

// HTTP refuses in the words of upstream's kubelet.
func (f *fixture) HTTP(next http.Handler) http.Handler {
	return f.Authenticator.HTTP(next, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeText(w, http.StatusUnauthorized, "Unauthorized")
	}))
}

func (f *fixture) token(t testing.TB, role Role) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(f.root, "credentials", string(role)+".token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// revoke takes a token back as the node's owner does.
func (f *fixture) revoke(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(f.material.TokenDir, name+".json")); err != nil {
		t.Error(err)
	}
}

// chain returns the certificate of a credential as a server sees it.
func chain(t *testing.T, base string) []*x509.Certificate {
	t.Helper()
	p, err := loadPair(base+".crt", base+".key")
	if err != nil || p == nil {
		t.Fatalf("load %s: %v", base, err)
	}
	return []*x509.Certificate{p.cert}
}

// foreign makes an authority that the node does not know, and a client certificate under it.
func foreign(t *testing.T, organisation string) (caFile string, client []*x509.Certificate) {
	t.Helper()
	dir, now := t.TempDir(), time.Now()
	caFile = filepath.Join(dir, "ca.crt")
	ca, err := issue(authorityTemplate(now), nil, caFile, filepath.Join(dir, "ca.key"), now)
	if err != nil {
		t.Fatal(err)
	}
	template := clientTemplate(RoleNone, now)
	template.Subject.CommonName = "alice"
	template.Subject.Organization = []string{organisation}
	p, err := issue(template, ca, filepath.Join(dir, "alice.crt"), filepath.Join(dir, "alice.key"), now)
	if err != nil {
		t.Fatal(err)
	}
	return caFile, []*x509.Certificate{p.cert}
}

func TestAllowIsTheTableInTheDocumentation(t *testing.T) {
	want := map[Role]string{
		RoleAdmin:     "read write exec admin",
		RoleOperator:  "read write exec",
		RoleViewer:    "read",
		RoleNone:      "",
		Role("other"): "",
	}
	for role, verbs := range want {
		var got []string
		for _, verb := range []Verb{Read, Write, Exec, Admin, "", "other"} {
			if Allow(role, verb) {
				got = append(got, string(verb))
			}
		}
		if strings.Join(got, " ") != verbs {
			t.Errorf("%q may %q, want %q", role, got, verbs)
		}
	}
}

func TestIdentify(t *testing.T) {
	masters, mastersChain := foreign(t, "system:masters")
	_, unknownChain := foreign(t, "nodal:admin")
	minter, minterChain := foreign(t, "nodal:admin")

	type expect struct {
		name, via string
		role      Role
	}
	refused := expect{}
	anonymous := func(c *Config) { c.Anonymous = true }
	others := func(c *Config) { c.Anonymous, c.OtherTokens = true, true }
	cases := []struct {
		name   string
		config func(*Config)
		offer  func(*fixture) evidence
		want   expect
	}{
		{"nothing is refused", nil, func(*fixture) evidence { return evidence{} }, refused},
		{"nothing is anonymous where that is on", anonymous,
			func(*fixture) evidence { return evidence{} }, expect{"system:anonymous", "anonymous", RoleNone}},
		{"an admin token is admin", nil,
			func(f *fixture) evidence { return evidence{authorization: "Bearer " + f.token(t, RoleAdmin)} },
			expect{"admin", "token", RoleAdmin}},
		{"the scheme may be in any case", nil,
			func(f *fixture) evidence { return evidence{authorization: "bearer  " + f.token(t, RoleViewer)} },
			expect{"viewer", "token", RoleViewer}},
		{"a wrong token is refused though anonymous is on", anonymous,
			func(f *fixture) evidence { return evidence{authorization: "Bearer nodal_wrong"} }, refused},
		{"another's token is refused though anonymous is on", anonymous,
			func(f *fixture) evidence { return evidence{authorization: "Bearer of-a-cluster"} }, refused},
		{"another's token is none, where that is on", others,
			func(f *fixture) evidence { return evidence{authorization: "Bearer of-a-cluster"} },
			expect{"system:anonymous", "anonymous", RoleNone}},
		{"a wrong token of a node is refused there too", others,
			func(f *fixture) evidence { return evidence{authorization: "Bearer nodal_wrong"} }, refused},
		{"a right token counts there too", others,
			func(f *fixture) evidence { return evidence{authorization: "Bearer " + f.token(t, RoleViewer)} },
			expect{"viewer", "token", RoleViewer}},
		{"a certificate of an unknown authority is refused there too", others,
			func(*fixture) evidence { return evidence{certs: unknownChain, authorization: "Bearer of-a-cluster"} }, refused},
		{"another's token is none beside a right certificate", others,
			func(f *fixture) evidence {
				return evidence{certs: chain(t, filepath.Join(f.root, "credentials", "operator")), authorization: "Bearer of-a-cluster"}
			}, expect{"operator", "certificate", RoleOperator}},
		{"another's token is none and anonymous is off", func(c *Config) { c.OtherTokens = true },
			func(f *fixture) evidence { return evidence{authorization: "Bearer of-a-cluster"} }, refused},
		{"a token is refused if a cluster is asked and does not know it", func(c *Config) { others(c); c.Tokens = knowsNone{} },
			func(f *fixture) evidence { return evidence{authorization: "Bearer of-a-cluster"} }, refused},
		{"a token cut short is refused", nil,
			func(f *fixture) evidence {
				return evidence{authorization: "Bearer " + f.token(t, RoleAdmin)[:40]}
			}, refused},
		{"the hash of a token is no token", nil,
			func(f *fixture) evidence {
				return evidence{authorization: "Bearer " + tokenHash(t, f)}
			}, refused},
		{"another scheme is no credential", anonymous,
			func(*fixture) evidence { return evidence{authorization: "Basic YTpi"} },
			expect{"system:anonymous", "anonymous", RoleNone}},
		{"an operator certificate is operator", nil,
			func(f *fixture) evidence {
				return evidence{certs: chain(t, filepath.Join(f.root, "credentials", "operator"))}
			},
			expect{"operator", "certificate", RoleOperator}},
		{"the serving certificate is no client's", nil,
			func(f *fixture) evidence { return evidence{certs: chain(t, filepath.Join(f.root, "pki", "serving"))} }, refused},
		{"a certificate of an unknown authority is refused though anonymous is on", anonymous,
			func(*fixture) evidence { return evidence{certs: unknownChain} }, refused},
		{"a right token makes up for an unknown certificate", nil,
			func(f *fixture) evidence {
				return evidence{certs: unknownChain, authorization: "Bearer " + f.token(t, RoleViewer)}
			}, expect{"viewer", "token", RoleViewer}},
		{"system:masters of the configured authority is admin", func(c *Config) { c.ClientCAFile = masters },
			func(*fixture) evidence { return evidence{certs: mastersChain} }, expect{"alice", "certificate", RoleAdmin}},
		{"the configured authority cannot mint our roles", func(c *Config) { c.ClientCAFile = minter },
			func(*fixture) evidence { return evidence{certs: minterChain} }, expect{"alice", "certificate", RoleNone}},
		{"AlwaysAllow makes the known admin", func(c *Config) { c.ClientCAFile = minter; c.AlwaysAllow = true },
			func(*fixture) evidence { return evidence{certs: minterChain} }, expect{"alice", "certificate", RoleAdmin}},
		{"AlwaysAllow does not make the unknown known", func(c *Config) { c.AlwaysAllow = true },
			func(*fixture) evidence { return evidence{} }, refused},
		{"AlwaysAllow with anonymous makes everybody admin", func(c *Config) { c.AlwaysAllow = true; c.Anonymous = true },
			func(*fixture) evidence { return evidence{} }, expect{"system:anonymous", "anonymous", RoleAdmin}},
		{"a socket peer of no role may show a token", nil,
			func(f *fixture) evidence {
				return evidence{socket: &Identity{Name: "uid:7", Via: "socket"}, authorization: "Bearer " + f.token(t, RoleViewer)}
			}, expect{"viewer", "token", RoleViewer}},
		{"a socket peer of no role is known but may do nothing", nil,
			func(*fixture) evidence { return evidence{socket: &Identity{Name: "uid:7", Via: "socket"}} },
			expect{"uid:7", "socket", RoleNone}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, c.config)
			id, err := f.identify(t.Context(), c.offer(f))
			if got := (expect{id.Name, id.Via, id.Role}); got != c.want {
				t.Errorf("got %+v (%v), want %+v", got, err, c.want)
			}
			if (err != nil) != (c.want == refused) {
				t.Errorf("got error %v", err)
			}
		})
	}
}

// knowsNone is a cluster without tokens.
type knowsNone struct{}

func (knowsNone) Review(context.Context, string) (Identity, bool, error) {
	return Identity{}, false, nil
}

func tokenHash(t *testing.T, f *fixture) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(f.material.TokenDir, "admin.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), `"sha256":"`)
	return rest[:64]
}

func TestARevokedTokenFailsWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		offer := evidence{authorization: "Bearer " + f.token(t, RoleOperator)}
		if _, err := f.identify(t.Context(), offer); err != nil {
			t.Fatalf("before: %v", err)
		}
		f.revoke(t, "operator")
		time.Sleep(time.Second) // of the bubble's clock
		if id, err := f.identify(t.Context(), offer); err == nil {
			t.Errorf("after: still %+v", id)
		}
		if _, err := f.identify(t.Context(), evidence{authorization: "Bearer " + f.token(t, RoleViewer)}); err != nil {
			t.Errorf("another token: %v", err)
		}
	})
}

func TestABadTokenRecordSpoilsNoOther(t *testing.T) {
	f := newFixture(t, nil)
	if err := os.WriteFile(filepath.Join(f.material.TokenDir, "bad.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := loadTokens(f.material.TokenDir)
	if err == nil || len(list.byName) != 3 {
		t.Errorf("got %d tokens and %v, want 3 and an error", len(list.byName), err)
	}
}

func TestNamesOfTokensStayInTheirDirectory(t *testing.T) {
	for _, name := range []string{"", "../admin", "a/b", ".hidden"} {
		if _, err := Issue(t.TempDir(), name, RoleAdmin, time.Now()); err == nil {
			t.Errorf("issued a token called %q", name)
		}
	}
}

func TestFailuresDoNotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		for range 1000 {
			f.identify(t.Context(), evidence{authorization: "Bearer guess"})
		}
		if got := strings.Count(f.log.String(), "authentication failed"); got != 5 {
			t.Errorf("got %d lines, want 5", got)
		}
		time.Sleep(time.Second)
		f.identify(t.Context(), evidence{authorization: "Bearer guess"})
		if !strings.Contains(f.log.String(), "suppressed=995") {
			t.Error("the next line does not say how many were left out")
		}
		if strings.Contains(f.log.String(), "guess") {
			t.Error("a token is in the log")
		}
	})
}
