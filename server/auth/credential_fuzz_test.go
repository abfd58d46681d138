package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzToken holds that an Authorization header proves a role if and only if it is the scheme, a space and a token of
// that role, and that no other header proves anything.
func FuzzToken(f *testing.F) {
	fix := newFixture(f, nil)
	tokens := map[string]Role{}
	for _, role := range []Role{RoleViewer, RoleOperator, RoleAdmin} {
		token := fix.token(f, role)
		tokens[token] = role
		f.Add(uint8(len(tokens)), "Bearer ", "", "")
	}
	f.Add(uint8(0), "bearer\t", "\x00", "Cookie")
	f.Add(uint8(1), "Basic ", "", "Impersonate-User")
	f.Add(uint8(2), " BEARER  ", " ", "X-Remote-User")
	ordered := []string{"", fix.token(f, RoleViewer), fix.token(f, RoleOperator), fix.token(f, RoleAdmin)}
	f.Fuzz(func(t *testing.T, which uint8, before, after, other string) {
		token := ordered[int(which)%len(ordered)]
		r, err := http.NewRequestWithContext(t.Context(), "GET", "https://node/pods", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header[http.CanonicalHeaderKey(other)] = []string{"admin", token}
		r.Header.Set("Authorization", before+token+after)
		id, err := fix.proven(t.Context(), requestEvidence(r))
		scheme, said, _ := strings.Cut(strings.TrimSpace(before+token+after), " ")
		want := tokens[strings.TrimSpace(said)]
		if !strings.EqualFold(scheme, "Bearer") {
			want = RoleNone
		}
		if id.Role != want || (err == nil) != (want != RoleNone) {
			t.Errorf("%q and %q: got role %q, %v, want %q", before+token+after, other, id.Role, err, want)
		}
		if _, known := fix.Knows(r); known != (want != RoleNone) {
			t.Errorf("%q: the caller is known: %t, want %t", before+token+after, known, want != RoleNone)
		}
	})
}

// FuzzTokenRecord holds that a record gives its role to the token with its hash until it expires, and nothing to any
// other.
func FuzzTokenRecord(f *testing.F) {
	hash := sha256.Sum256([]byte("secret"))
	sound := `{"role":"viewer","sha256":"` + hex.EncodeToString(hash[:]) + `","created":"2026-05-01T12:00:00Z"`
	f.Add([]byte(sound+`}`), "secret")
	f.Add([]byte(sound+`,"expires":"2026-05-02T12:00:00Z"}`), "secret")
	f.Add([]byte(sound+`,"expires":"9999-12-31T23:59:59Z","namespaces":["a"]}`), "secret")
	f.Add([]byte(`{"role":"root","sha256":"`+hex.EncodeToString(hash[:])+`"}`), "secret")
	f.Add([]byte(`{"role":"admin","sha256":""}`), "")
	f.Add([]byte(`{"ROLE":"admin","role":"viewer","sha256":"00"}`), "x")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, record []byte, token string) {
		if err := os.WriteFile(filepath.Join(dir, "name.json"), record, 0o600); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		tokens := tokenDir{path: dir, uses: newUses("", slog.New(slog.DiscardHandler))}
		list, err := tokens.load()
		if (err == nil) != (len(list.byName) == 1) {
			t.Fatalf("got %d tokens and error %v, want one of both", len(list.byName), err)
		}
		known, err := list.identify(token, now)
		if err != nil {
			return
		}
		hash := sha256.Sum256([]byte(token))
		if !strings.Contains(strings.ToLower(string(record)), hex.EncodeToString(hash[:])) {
			t.Errorf("record %q knows %q, whose hash is not in it", record, token)
		}
		if id := known.id; id.Name != "name" || id.Role != RoleViewer && id.Role != RoleOperator && id.Role != RoleAdmin {
			t.Errorf("record %q: got %+v, want a role and the name of the file", record, id)
		}
		var says struct{ Expires *time.Time }
		if err := json.Unmarshal(record, &says); err != nil || says.Expires != nil && !says.Expires.IsZero() && !says.Expires.After(now) {
			t.Errorf("record %q counts at %s, %v", record, now, err)
		}
	})
}

// FuzzCertificate holds that a client certificate gives a role only as the rules say: from the node's own authority
// that of its organisation, from the configured one admin to system:masters, and only in its time and for clients.
func FuzzCertificate(f *testing.F) {
	now := time.Now().Truncate(time.Second) // as certificates have it
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	signers := []*pair{fuzzedAuthority(f, now), fuzzedAuthority(f, now), fuzzedAuthority(f, now)}
	known := &trust{own: x509.NewCertPool(), client: x509.NewCertPool()}
	known.own.AddCert(signers[0].cert)
	known.client.AddCert(signers[1].cert)
	for signer := range uint8(3) {
		for _, organisation := range []string{
			"nodal:admin", "nodal:viewer,x", "x,nodal:root", "system:masters", "", "Nodal:admin", "nodal:",
		} {
			f.Add(signer, organisation, int16(-1), int16(1), uint8(x509.ExtKeyUsageClientAuth), uint16(0))
		}
		f.Add(signer, "nodal:admin", int16(1), int16(2), uint8(x509.ExtKeyUsageClientAuth), uint16(0))
		f.Add(signer, "system:masters", int16(-2), int16(-1), uint8(x509.ExtKeyUsageClientAuth), uint16(0))
		f.Add(signer, "nodal:operator", int16(-1), int16(1), uint8(x509.ExtKeyUsageServerAuth), uint16(0))
		f.Add(signer, "nodal:operator", int16(-1), int16(1), uint8(x509.ExtKeyUsageClientAuth), uint16(1234))
	}
	f.Fuzz(func(t *testing.T, signer uint8, organisations string, from, until int16, usage uint8, flip uint16) {
		by := int(signer) % len(signers)
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1),
			Subject:      pkix.Name{CommonName: "caller", Organization: strings.Split(organisations, ",")},
			NotBefore:    now.Add(time.Duration(from) * time.Hour), NotAfter: now.Add(time.Duration(until) * time.Hour),
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsage(usage % 3)}, // any, for servers, for clients
		}
		der, err := x509.CreateCertificate(rand.Reader, template, signers[by].cert, &key.PublicKey, signers[by].key)
		if err != nil {
			return // some organisations have no encoding
		}
		damaged := flip != 0
		if damaged {
			der[int(flip)%len(der)] ^= 1 << (flip % 8)
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return
		}
		id, err := known.identify([]*x509.Certificate{cert}, nil, now)
		valid := !damaged && by < 2 && from <= 0 && until >= 0 && usage%3 != uint8(x509.ExtKeyUsageServerAuth)
		if (err == nil) != valid {
			t.Fatalf("signer %d, %d h to %d h, usage %d, damaged %t: got %v, want it to be valid: %t",
				by, from, until, usage%3, damaged, err, valid)
		}
		if want := roleByRule(by, template.Subject.Organization); valid && (id.Role != want || id.Name != "caller") {
			t.Errorf("signer %d, organisations %q: got %+v, want role %q", by, organisations, id, want)
		}
	})
}

// roleByRule is the rule, without a loop over prefixes.
func roleByRule(signer int, organisations []string) Role {
	for _, o := range organisations {
		switch {
		case signer == 0 && o == "nodal:viewer":
			return RoleViewer
		case signer == 0 && o == "nodal:operator":
			return RoleOperator
		case signer == 0 && o == "nodal:admin", signer == 1 && o == "system:masters":
			return RoleAdmin
		}
	}
	return RoleNone
}

func fuzzedAuthority(tb testing.TB, now time.Time) *pair {
	tb.Helper()
	dir := tb.TempDir()
	ca, err := issue(authorityTemplate(now), nil, filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"), now)
	if err != nil {
		tb.Fatal(err)
	}
	return ca
}
