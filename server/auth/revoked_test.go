package auth

import (
	"crypto/x509"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nodal/node"
)

// client issues a certificate of the fixture's own authority, as its owner may do by hand.
func (f *fixture) client(t *testing.T, organisation string, units ...string) []*x509.Certificate {
	t.Helper()
	ca, err := loadPair(f.material.CAFile, strings.TrimSuffix(f.material.CAFile, "crt")+"key")
	if err != nil || ca == nil {
		t.Fatalf("load the authority: %v", err)
	}
	template := clientTemplate(RoleNone, time.Now())
	template.Subject.CommonName, template.Subject.Organization, template.Subject.OrganizationalUnit = "ann", []string{organisation}, units
	dir := t.TempDir()
	p, err := issue(template, ca, filepath.Join(dir, "ann.crt"), filepath.Join(dir, "ann.key"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return []*x509.Certificate{p.cert}
}

func TestARevokedCertificateProvesNothing(t *testing.T) {
	f := newFixture(t, nil)
	ann, other := f.client(t, "nodal:operator"), chain(t, filepath.Join(f.root, "credentials", "viewer"))
	id, err := f.identify(t.Context(), evidence{certs: ann})
	if err != nil || id.Credential != serialOf(ann[0]) {
		t.Fatalf("got %+v, %v; want ann with her serial number", id, err)
	}
	printed := strings.ToUpper(serialOf(ann[0]))
	if len(printed)%2 == 1 {
		printed = "0" + printed
	}
	got, err := f.RevokeCertificate(NewContext(t.Context(), alice.Identity), printed[:2]+":"+printed[2:])
	if err != nil || got.Serial != serialOf(ann[0]) || got.Revoked.IsZero() || got.RevokedBy != "alice" {
		t.Errorf("got %+v, %v; want what alice revoked", got, err)
	}
	for name, a := range map[string]*Authenticator{"this agent": f.Authenticator, "the next": restarted(t, f)} {
		if id, err := a.identify(t.Context(), evidence{certs: ann}); !errors.Is(err, errRevoked) {
			t.Errorf("%s: got %+v, %v; want %v", name, id, err, errRevoked)
		}
		if _, err := a.identify(t.Context(), evidence{certs: other}); err != nil {
			t.Errorf("%s, another certificate: %v", name, err)
		}
	}
	again, err := f.RevokeCertificate(t.Context(), serialOf(ann[0]))
	if err != nil || again != got {
		t.Errorf("revoked again: got %+v, %v; want %+v", again, err, got)
	}
}

func restarted(t *testing.T, f *fixture) *Authenticator {
	t.Helper()
	a, err := New(f.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestASerialNumberOfAnotherAuthorityIsNotRevoked(t *testing.T) {
	caFile, masters := foreign(t, "system:masters")
	f := newFixture(t, func(c *Config) { c.ClientCAFile = caFile })
	if _, err := f.RevokeCertificate(t.Context(), serialOf(masters[0])); err != nil {
		t.Fatal(err)
	}
	if _, err := f.identify(t.Context(), evidence{certs: masters}); err != nil {
		t.Errorf("a certificate of another authority with that number: %v", err)
	}
}

func TestIssuedCertificatesAreListed(t *testing.T) {
	f := newFixture(t, nil)
	all, err := f.Certificates()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name+" "+string(c.Role))
		if want := serialOf(chain(t, filepath.Join(f.root, "credentials", c.Name))[0]); c.Serial != want || c.Expires.IsZero() {
			t.Errorf("got %+v, want serial number %s and its end", c, want)
		}
	}
	if want := []string{"admin admin", "operator operator", "viewer viewer"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

func TestSerialNumbersAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"1fa0": "1fa0", "1F:A0": "1fa0", "0x1fa0": "1fa0", "001fa0": "1fa0",
		"": "", "0": "", "-1": "", "../x": "", "1fa0g": "", strings.Repeat("1", 65): "", hex.EncodeToString([]byte("x")) + "\n": "",
	} {
		got, err := parseSerial(text)
		if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, node.ErrInvalid) {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestADamagedListOfRevokedCertificatesStopsTheAgent(t *testing.T) {
	f := newFixture(t, nil)
	if err := os.WriteFile(f.material.RevokedFile, []byte("?"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(f.cfg); err == nil || !strings.Contains(err.Error(), f.material.RevokedFile) {
		t.Errorf("got %v, want an error with the file", err)
	}
}

func TestACertificateMayBeNarrowedToNamespaces(t *testing.T) {
	f := newFixture(t, nil)
	for _, c := range []struct {
		name         string
		organisation string
		units        []string
		role         Role
		namespaces   []string
	}{
		{"an operator of two", "nodal:operator", []string{"nodal:namespace:dev", "nodal:namespace:test"}, RoleOperator, []string{"dev", "test"}},
		{"units of other kinds", "nodal:viewer", []string{"Research"}, RoleViewer, nil},
		{"an admin, who cannot be", "nodal:admin", []string{"nodal:namespace:dev"}, RoleNone, nil},
		{"a namespace that is none", "nodal:viewer", []string{"nodal:namespace:"}, RoleNone, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			id, err := f.identify(t.Context(), evidence{certs: f.client(t, c.organisation, c.units...)})
			slices.Sort(id.Namespaces) // a certificate holds its units as a set
			if err != nil || id.Role != c.role || !slices.Equal(id.Namespaces, c.namespaces) {
				t.Errorf("got %+v, %v; want role %q in %v", id, err, c.role, c.namespaces)
			}
		})
	}
}
