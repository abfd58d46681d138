package fleet

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/transport"
)

func TestHowANodeIs(t *testing.T) {
	for _, c := range []struct {
		name    string
		present bool
		record  Record
		want    Standing
	}{
		{"all is as etcd says", true, Record{Given: 3, Applied: 3, Wanted: 2, Ready: 1, Done: 1}, Well},
		{"it has not applied all", true, Record{Given: 3, Applied: 2}, Busy},
		{"a pod is not ready yet", true, Record{Wanted: 2, Ready: 1}, Busy},
		{"a pod has failed", true, Record{Given: 3, Applied: 2, Failing: 1}, Failing},
		{"the node itself is not well", true, Record{Fault: "DiskPressure"}, Failing},
		{"it has not been heard of", false, Record{Failing: 1}, Silent},
	} {
		if got := judge(c.present, c.record); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestARecordOfAnotherHandIsAFault(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{", "cannot be read"},
		{`{"given": "many"}`, "cannot be read"},
		{strings.Repeat(" ", maxRecord+1), "more than a node writes"},
		{`{"fault": "a\nb` + strings.Repeat("x", 2*maxFault) + `"}`, "a bx"},
	} {
		if got := readRecord(c.text).Fault; !strings.Contains(got, c.want) || len(got) > maxFault {
			t.Errorf("%.20q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestARenewedCertificateIsUsed(t *testing.T) {
	dir := t.TempDir()
	files := transport.TLSConfig{CertFile: filepath.Join(dir, "node.crt"), KeyFile: filepath.Join(dir, "node.key")}
	write := func() (raw []byte) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(1)}
		raw, err = x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		private, err2 := x509.MarshalPKCS8PrivateKey(key)
		err3 := os.WriteFile(files.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600)
		err4 := os.WriteFile(files.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
		if err := errors.Join(err, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		return raw
	}
	synctest.Test(t, func(t *testing.T) {
		write()
		secure, err := TLS([]string{"https://etcd:2379"}, files)
		if err != nil {
			t.Fatal(err)
		}
		want := write()
		time.Sleep(2 * time.Second)
		if pair, err := secure.GetClientCertificate(nil); err != nil || !bytes.Equal(pair.Certificate[0], want) {
			t.Errorf("the next connection does not use the renewed certificate: %v", err)
		}
	})
}
