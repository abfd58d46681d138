package certificate

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"testing"
	"time"
)

func issue(t *testing.T, p Pair, from, to time.Time) {
	t.Helper()
	key, err := p.key()
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: to}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.save(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key); err != nil {
		t.Fatal(err)
	}
}

func TestACertificateIsReplacedLateInItsLife(t *testing.T) {
	p := In(t.TempDir())
	if due, err := p.due(); err != nil || !due.IsZero() {
		t.Errorf("without a certificate one is due %v, %v, want at once", due, err)
	}
	from := time.Now().Truncate(time.Second)
	issue(t, p, from, from.Add(100*time.Hour))
	for range 100 {
		due, err := p.due()
		if life := due.Sub(from); err != nil || life < 70*time.Hour || life > 90*time.Hour {
			t.Fatalf("the next one is due after %v of 100 hours, %v", life, err)
		}
	}
}

func TestACertificateIsValidBetweenItsTimes(t *testing.T) {
	p := In(t.TempDir())
	from := time.Now().Truncate(time.Second)
	issue(t, p, from, from.Add(time.Hour))
	for _, c := range []struct {
		name string
		at   time.Time
		want bool
	}{
		{"before", from.Add(-time.Minute), false},
		{"within", from.Add(time.Minute), true},
		{"after", from.Add(2 * time.Hour), false},
	} {
		if got, err := p.Valid(c.at); err != nil || got != c.want {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	if err := os.WriteFile(p.Path, []byte("half a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Valid(from.Add(time.Minute)); err != nil || got {
		t.Errorf("of a broken file: got %v, %v, want that it is not valid", got, err)
	}
}

func TestAKeyIsKeptUntilItsCertificateIsThere(t *testing.T) {
	p := In(t.TempDir())
	first, err := p.key()
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.key()
	if err != nil || !first.(*ecdsa.PrivateKey).Equal(again) {
		t.Errorf("another key, %v", err)
	}
	issue(t, p, time.Now(), time.Now().Add(time.Hour))
	next, err := p.key()
	if err != nil || first.(*ecdsa.PrivateKey).Equal(next) {
		t.Errorf("the key of a certificate that is there is used again, %v", err)
	}
}
