package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"nodal/host/replace"
)

const (
	authorityName = "nodal-ca"
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
	renewBefore   = 30 * 24 * time.Hour
	clockSkew     = time.Hour // allowed to a client whose clock is behind
)

// pair is a certificate with its key.
type pair struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// loadPair returns nil if the files are missing or do not fit together, as after a
// crash between writing the one and the other. A file that cannot be read is an error:
// a passing fault of the disk must not replace an authority.
func loadPair(certFile, keyFile string) (*pair, error) {
	certPEM, certErr := os.ReadFile(certFile)
	keyPEM, keyErr := os.ReadFile(keyFile)
	for _, err := range []error{certErr, keyErr} {
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	loaded, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, nil
	}
	key, ok := loaded.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, nil
	}
	return &pair{cert: loaded.Leaf, key: key}, nil
}

// fresh reports whether the certificate is valid and will be for a while.
func (p *pair) fresh(now time.Time) bool {
	return p != nil && !now.Before(p.cert.NotBefore) && now.Add(renewBefore).Before(p.cert.NotAfter)
}

// signedBy reports whether ca made the certificate.
func (p *pair) signedBy(ca *pair) bool {
	return p.cert.CheckSignatureFrom(ca.cert) == nil
}

func authorityTemplate(now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject:               pkix.Name{CommonName: authorityName},
		NotAfter:              now.Add(authorityLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
}

func clientTemplate(role Role, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: string(role), Organization: []string{organisationPrefix + string(role)}},
		NotAfter:    now.Add(leafLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

func servingTemplate(hosts []string, now time.Time) *x509.Certificate {
	t := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "localhost"},
		NotAfter:    now.Add(leafLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if len(hosts) > 0 {
		t.Subject.CommonName = hosts[0]
	}
	all := append(slices.Clone(hosts), "localhost", "127.0.0.1", "::1")
	slices.Sort(all)
	for _, h := range slices.Compact(all) {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	return t
}

// sameNames reports whether two certificates are for the same hosts.
func sameNames(a, b *x509.Certificate) bool {
	return slices.Equal(a.DNSNames, b.DNSNames) && slices.EqualFunc(a.IPAddresses, b.IPAddresses, net.IP.Equal)
}

// issue signs template with a new key and writes both; a nil ca makes it sign itself.
func issue(template *x509.Certificate, ca *pair, certFile, keyFile string, now time.Time) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key for %s: %w", certFile, err)
	}
	if ca == nil {
		ca = &pair{cert: template, key: key}
	}
	template.NotBefore = now.Add(-clockSkew)
	if ca.cert.NotAfter.Before(template.NotAfter) {
		template.NotAfter = ca.cert.NotAfter
	}
	// A nil serial number asks for a random one.
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	if err != nil {
		return nil, fmt.Errorf("sign %s: %w", certFile, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("sign %s: %w", certFile, err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key %s: %w", keyFile, err)
	}
	if err := replace.File(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600); err != nil {
		return nil, err
	}
	if err := replace.File(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return nil, err
	}
	return &pair{cert: cert, key: key}, nil
}
