package certificate

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Wanted holds the purpose of a certificate: a client certificate, or a serving certificate for names and addresses.
type Wanted struct {
	NodeName string
	Hosts    []string // names and addresses to serve under; a client certificate has none
}

// String returns the kind of certificate.
func (w Wanted) String() string {
	if len(w.Hosts) > 0 {
		return "serving certificate"
	}
	return "client certificate"
}

// metBy fails if a certificate is not valid for each of the hosts.
func (w Wanted) metBy(leaf *x509.Certificate) error {
	for _, host := range w.Hosts {
		if err := leaf.VerifyHostname(host); err != nil {
			return err
		}
	}
	return nil
}

// request builds the request that the cluster's own signers grant to a node.
func (w Wanted) request(key crypto.Signer) (*certificatesv1.CertificateSigningRequest, error) {
	signer, usage := certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.UsageClientAuth
	if len(w.Hosts) > 0 {
		signer, usage = certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth
	}
	template := &x509.CertificateRequest{
		Subject: pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + w.NodeName},
	}
	for _, host := range w.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate request: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("name a certificate request after its key: %w", err)
	}
	digest := sha256.Sum256(public)
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "node-csr-" + hex.EncodeToString(digest[:16])},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: signer,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, usage},
		},
	}, nil
}
