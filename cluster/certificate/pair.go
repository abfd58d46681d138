package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"

	"nodal/host/replace"
)

// Pair is the file with a certificate and its key.
type Pair struct{ Path string }

// ClientIn returns the place of the client certificate, which is also upstream's.
func ClientIn(dir string) Pair { return Pair{filepath.Join(dir, "kubelet-client-current.pem")} }

// ServingIn returns the place of the serving certificate, which is also upstream's.
func ServingIn(dir string) Pair { return Pair{filepath.Join(dir, "kubelet-server-current.pem")} }

// Of returns the file that a client configuration uses. It reports false if certificate and key are in two files.
func Of(api *rest.Config) (Pair, bool) {
	return Pair{api.CertFile}, api.CertFile != "" && api.CertFile == api.KeyFile
}

// leaf returns the certificate, or nil if there is none or if it cannot be used.
func (p Pair) leaf() (*x509.Certificate, error) {
	text, err := os.ReadFile(p.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, nil // the caller asks for another
	}
	return pair.Leaf, nil
}

// Valid reports whether the certificate is valid at a time.
func (p Pair) Valid(now time.Time) (bool, error) {
	leaf, err := p.leaf()
	return leaf != nil && now.After(leaf.NotBefore) && now.Before(leaf.NotAfter), err
}

// Expires returns the end of the certificate's validity; zero if there is none.
func (p Pair) Expires() time.Time {
	leaf, err := p.leaf()
	if err != nil || leaf == nil {
		return time.Time{}
	}
	return leaf.NotAfter
}

// waiting returns the file of the key whose request waits.
func (p Pair) waiting() string { return p.Path + ".key" }

// key returns the key whose request waits, or else a new one.
func (p Pair) key() (crypto.Signer, error) {
	if key, err := keyutil.PrivateKeyFromFile(p.waiting()); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	text, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	return key, keep(p.waiting(), text)
}

// save makes a certificate the current one. It removes the waiting key last: until then the request can be repeated.
func (p Pair) save(chain []byte, key crypto.Signer, wanted Wanted) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	text := append(chain, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})...)
	issued, err := tls.X509KeyPair(text, text)
	if err == nil {
		err = wanted.metBy(issued.Leaf)
	}
	if err != nil { // the same request would bring the same certificate
		return errors.Join(fmt.Errorf("use the certificate that was issued: %w", err), p.forget())
	}
	if err := keep(p.Path, text); err != nil {
		return err
	}
	return p.forget()
}

// forget removes the key of a request that is over.
func (p Pair) forget() error {
	if err := os.Remove(p.waiting()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the key of a request: %w", err)
	}
	return nil
}

// keep replaces a file whole. Only its owner may read it.
func keep(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return replace.File(path, text, 0o600)
}
