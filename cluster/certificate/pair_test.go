package certificate

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"slices"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
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
	if err := p.save(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key, Wanted{}); err != nil {
		t.Fatal(err)
	}
}

func TestACertificateIsReplacedLateInItsLife(t *testing.T) {
	p := ClientIn(t.TempDir())
	if due, err := p.due(Wanted{}); err != nil || !due.IsZero() {
		t.Errorf("without a certificate one is due %v, %v, want at once", due, err)
	}
	from := time.Now().Truncate(time.Second)
	issue(t, p, from, from.Add(100*time.Hour))
	for range 100 {
		due, err := p.due(Wanted{})
		if life := due.Sub(from); err != nil || life < 70*time.Hour || life > 90*time.Hour {
			t.Fatalf("the next one is due after %v of 100 hours, %v", life, err)
		}
	}
}

func TestACertificateIsValidBetweenItsTimes(t *testing.T) {
	p := ClientIn(t.TempDir())
	if at := p.Expires(); !at.IsZero() {
		t.Errorf("without a certificate one runs out at %v", at)
	}
	from := time.Now().Truncate(time.Second)
	issue(t, p, from, from.Add(time.Hour))
	if at := p.Expires(); !at.Equal(from.Add(time.Hour)) {
		t.Errorf("it runs out at %v, want an hour after %v", at, from)
	}
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
	p := ClientIn(t.TempDir())
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

func TestACertificateForOtherNamesIsReplacedAtOnce(t *testing.T) {
	p, from := ServingIn(t.TempDir()), time.Now()
	issue(t, p, from, from.Add(time.Hour))
	if due, err := p.due(Wanted{Hosts: []string{"10.0.0.7"}}); err != nil || !due.IsZero() {
		t.Errorf("the next one is due %v, %v, want at once", due, err)
	}
	key, err := p.key()
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := os.ReadFile(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.save(leaf, key, Wanted{Hosts: []string{"10.0.0.7"}}); err == nil {
		t.Error("a certificate of another key and for other names is taken")
	}
	if next, err := p.key(); err != nil || key.(*ecdsa.PrivateKey).Equal(next) {
		t.Errorf("the key whose certificate is of no use is used again, %v", err)
	}
}

func TestARequestSaysWhatItIsFor(t *testing.T) {
	key, err := ClientIn(t.TempDir()).key()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		wanted Wanted
		signer string
		usage  certificatesv1.KeyUsage
		dns    []string
		ips    int
	}{
		{"a client", Wanted{NodeName: "n"}, "kubernetes.io/kube-apiserver-client-kubelet", certificatesv1.UsageClientAuth, nil, 0},
		{"a server", Wanted{NodeName: "n", Hosts: []string{"n", "10.0.0.7", "fd00::7"}}, "kubernetes.io/kubelet-serving", certificatesv1.UsageServerAuth, []string{"n"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := c.wanted.request(key)
			if err != nil {
				t.Fatal(err)
			}
			block, _ := pem.Decode(r.Spec.Request)
			asked, err := x509.ParseCertificateRequest(block.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			if r.Spec.SignerName != c.signer || !slices.Contains(r.Spec.Usages, c.usage) ||
				!slices.Equal(asked.DNSNames, c.dns) || len(asked.IPAddresses) != c.ips || asked.Subject.CommonName != "system:node:n" {
				t.Errorf("got %+v for %v and %v", r.Spec, asked.DNSNames, asked.IPAddresses)
			}
		})
	}
}
