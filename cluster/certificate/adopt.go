package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"
)

// Adopt has a client configuration use the node's own file, in which the certificate can be renewed. It fills the file
// with the certificate and the key of the configuration, as kubeadm writes them for a control plane's first node, unless
// it holds a certificate that is better. A configuration that authenticates without a certificate stays as it is.
func (p Pair) Adopt(api *rest.Config, now time.Time) error {
	text, err := given(api)
	if err != nil || text == nil {
		return err
	}
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return fmt.Errorf("use the client certificate of the kubeconfig: %w", err)
	}
	own, err := p.leaf()
	if err != nil {
		return err
	}
	if !better(own, pair.Leaf, now) {
		if err := keep(p.Path, text); err != nil {
			return err
		}
	}
	api.CertData, api.KeyData, api.CertFile, api.KeyFile = nil, nil, p.Path, p.Path
	return nil
}

// better reports whether the node's own certificate is used and not that of its kubeconfig: if it is valid and not the
// older one, or if the other is not valid either. own is nil if there is none.
func better(own, given *x509.Certificate, now time.Time) bool {
	valid := func(c *x509.Certificate) bool { return now.After(c.NotBefore) && now.Before(c.NotAfter) }
	switch {
	case own == nil:
		return false
	case !valid(given):
		return true
	}
	return valid(own) && !own.NotBefore.Before(given.NotBefore)
}

// given returns the certificate and the key of a client configuration in one text; nil if it has none.
func given(api *rest.Config) ([]byte, error) {
	certificate, key := api.CertData, api.KeyData
	var err error
	if len(certificate) == 0 && api.CertFile != "" {
		if certificate, err = os.ReadFile(api.CertFile); err != nil {
			return nil, fmt.Errorf("read the client certificate of the kubeconfig: %w", err)
		}
	}
	if len(key) == 0 && api.KeyFile != "" {
		if key, err = os.ReadFile(api.KeyFile); err != nil {
			return nil, fmt.Errorf("read the key of the kubeconfig: %w", err)
		}
	}
	if len(certificate) == 0 || len(key) == 0 {
		return nil, nil
	}
	text := blocks(certificate, "CERTIFICATE")
	return append(text, key...), nil
}

// blocks returns the blocks of one type. A file may hold the key beside the certificate.
func blocks(text []byte, kind string) (found []byte) {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return found
		}
		if block.Type == kind {
			found = append(found, pem.EncodeToMemory(block)...)
		}
		text = rest
	}
}
