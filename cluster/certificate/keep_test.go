package certificate

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const joining = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://joining"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

// signer is an API server that issues what is requested at once, and dates it back.
type signer struct {
	t      *testing.T
	issued []time.Time
	enough func()
}

func (s *signer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.issued = append(s.issued, time.Now())
	if len(s.issued) > 100 {
		s.enough()
		return nil, errors.New("that was enough")
	}
	asked := &certificatesv1.CertificateSigningRequest{}
	if err := json.NewDecoder(r.Body).Decode(asked); err != nil {
		return nil, err
	}
	block, _ := pem.Decode(asked.Spec.Request)
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(10 * time.Minute)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, request.PublicKey, key)
	if err != nil {
		return nil, err
	}
	asked.TypeMeta = metav1.TypeMeta{APIVersion: certificatesv1.SchemeGroupVersion.String(), Kind: "CertificateSigningRequest"}
	asked.Status.Certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	text, err := json.Marshal(asked)
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(text)), Request: r,
	}, err
}

func TestACertificateThatIsDatedBackIsNotRenewedWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		api := &signer{t: t, enough: cancel}
		err := Keeper{
			Wanted: Wanted{NodeName: "n"}, Pair: ClientIn(t.TempDir()), Log: slog.New(slog.DiscardHandler),
			Way:  func() (*rest.Config, error) { return &rest.Config{Host: "https://cluster", Transport: api}, nil },
			Tell: func(time.Duration, error) {},
		}.Run(ctx)
		if err == nil || len(api.issued) < 6 || len(api.issued) > 70 {
			t.Errorf("got %d certificates of ten minutes in an hour, %v, want one each minute at most", len(api.issued), err)
		}
	})
}

func TestACertificateThatHasRunOutAsksForNoOther(t *testing.T) {
	file := filepath.Join(t.TempDir(), "joining.conf")
	if err := os.WriteFile(file, []byte(joining), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, c := range []struct {
		name, kubeconfig string
		until            time.Time
		want             string
	}{
		{"it is valid", file, now.Add(time.Hour), "own"},
		{"it has run out", file, now.Add(-time.Minute), "https://joining"},
		{"it has run out, and there is no other way", "", now.Add(-time.Minute), "own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := ClientIn(t.TempDir())
			issue(t, own, now.Add(-time.Hour), c.until)
			way := Way(func() (*rest.Config, error) { return &rest.Config{Host: "own"}, nil }).Or(own, c.kubeconfig)
			api, err := way()
			if err != nil || api.Host != c.want {
				t.Errorf("got %+v, %v, want %s", api, err, c.want)
			}
		})
	}
}
