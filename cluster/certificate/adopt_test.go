package certificate

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// pairOf makes a certificate with its key, in the two texts of a kubeconfig.
func pairOf(t *testing.T, from, to time.Time) (certificate, key []byte) {
	t.Helper()
	made := ClientIn(t.TempDir())
	issue(t, made, from, to)
	text, err := os.ReadFile(made.Path)
	if err != nil {
		t.Fatal(err)
	}
	return blocks(text, "CERTIFICATE"), blocks(text, "PRIVATE KEY")
}

func TestTheCertificateOfAKubeconfigMovesToTheNodesOwnFile(t *testing.T) {
	now := time.Now()
	certificate, key := pairOf(t, now.Add(-time.Hour), now.Add(time.Hour))
	files := t.TempDir()
	for name, text := range map[string][]byte{"crt": certificate, "key": key} {
		if err := os.WriteFile(filepath.Join(files, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tls := range map[string]rest.TLSClientConfig{
		"in it":        {CertData: certificate, KeyData: key},
		"in two files": {CertFile: filepath.Join(files, "crt"), KeyFile: filepath.Join(files, "key")},
	} {
		t.Run(name, func(t *testing.T) {
			own, api := ClientIn(filepath.Join(t.TempDir(), "pki")), &rest.Config{TLSClientConfig: tls}
			if err := own.Adopt(api, now); err != nil {
				t.Fatal(err)
			}
			if pair, ok := Of(api); !ok || pair != own || api.CertData != nil || api.KeyData != nil {
				t.Errorf("the client uses %+v, want %s alone", api.TLSClientConfig, own.Path)
			}
			text, err := os.ReadFile(own.Path)
			if want := append(bytes.Clone(certificate), key...); err != nil || !bytes.Equal(text, want) {
				t.Errorf("the file holds %s, %v, want the certificate and then the key", text, err)
			}
			if info, err := os.Stat(own.Path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the file is %v, %v, want that only its owner reads it", info, err)
			}
		})
	}
}

func TestACallerWithoutACertificateHasNothingToAdopt(t *testing.T) {
	own, api := ClientIn(t.TempDir()), &rest.Config{BearerToken: "t"}
	if err := own.Adopt(api, time.Now()); err != nil || api.CertFile != "" {
		t.Errorf("got %+v, %v", api, err)
	}
	if _, err := os.Stat(own.Path); !os.IsNotExist(err) {
		t.Errorf("there is a file: %v", err)
	}
}

func TestTheBetterCertificateIsUsed(t *testing.T) {
	now := time.Now()
	span := func(from, to time.Duration) *x509.Certificate {
		return &x509.Certificate{NotBefore: now.Add(from), NotAfter: now.Add(to)}
	}
	for _, c := range []struct {
		name       string
		own, given *x509.Certificate
		want       bool
	}{
		{"there is no other", nil, span(-2, 2), false},
		{"it was renewed", span(-1, 3), span(-2, 2), true},
		{"it is the same", span(-2, 2), span(-2, 2), true},
		{"the kubeconfig is of a later cluster", span(-2, 9), span(-1, 2), false},
		{"it has run out", span(-1, 0), span(-2, 2), false},
		{"that of the kubeconfig has run out", span(-1, 2), span(-3, -2), true},
		{"both have run out", span(-2, -1), span(-4, -3), true},
	} {
		if got := better(c.own, c.given, now); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestARenewedCertificateOutlivesTheRestart(t *testing.T) {
	now := time.Now()
	certificate, key := pairOf(t, now.Add(-time.Hour), now.Add(time.Hour))
	own := ClientIn(t.TempDir())
	issue(t, own, now.Add(-time.Minute), now.Add(2*time.Hour))
	renewed, err := os.ReadFile(own.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Adopt(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: certificate, KeyData: key}}, now); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(own.Path); err != nil || !bytes.Equal(text, renewed) {
		t.Errorf("the certificate was replaced by that of the kubeconfig, %v", err)
	}
}
