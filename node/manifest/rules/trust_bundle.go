package rules

import (
	"crypto/x509"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node/trust"
)

const maxTrustBundle = 1 << 20 // bytes

// ClusterTrustBundle returns the rules that a ClusterTrustBundle breaks.
func ClusterTrustBundle(t *certificatesv1.ClusterTrustBundle) field.ErrorList {
	name := func(name string, _ bool) []string { return bundleName(name, t.Spec.SignerName) }
	c := &check{errs: namedMeta(&t.ObjectMeta, false, name)}
	c.optionalName(field.NewPath("spec", "signerName"), t.Spec.SignerName, signerName)
	c.anchors(field.NewPath("spec", "trustBundle"), t.Spec.TrustBundle)
	return c.errs
}

// bundleName checks Kubernetes' rule that a bundle is named after its signer.
func bundleName(name, signer string) []string {
	if signer == "" {
		return validation.IsDNS1123Subdomain(name)
	}
	own, ok := strings.CutPrefix(name, strings.ReplaceAll(signer, "/", ":")+":")
	if !ok {
		return []string{"must begin with the signer's name, with colons in the place of slashes, and another colon"}
	}
	return validation.IsDNS1123Subdomain(own)
}

// signerName checks Kubernetes' rule that a signer is a domain and a path in it.
func signerName(name string) []string {
	domain, path, _ := strings.Cut(name, "/")
	if path == "" || !strings.Contains(domain, ".") {
		return []string{"must be a domain and a path, such as example.com/signer"}
	}
	messages := validation.IsDNS1123Subdomain(domain)
	for label := range strings.SplitSeq(domain, ".") {
		messages = append(messages, validation.IsDNS1123Label(label)...)
	}
	return append(messages, validation.IsDNS1123Subdomain(path)...)
}

// anchors wants certificates of authorities, each once, and no other PEM blocks. Errors do not
// repeat their content.
func (c *check) anchors(at *field.Path, text string) {
	if len(text) > maxTrustBundle {
		c.errs = append(c.errs, field.TooLong(at, "", maxTrustBundle))
		return
	}
	seen, count := map[string]bool{}, 0
	for block := range trust.Blocks(text) {
		rule := ""
		certificate, err := x509.ParseCertificate(block.Bytes)
		switch {
		case block.Type != trust.Certificate:
			rule = "is " + Clip(block.Type) + ", not a certificate"
		case len(block.Headers) > 0:
			rule = "has headers"
		case err != nil:
			rule = "is no X.509 certificate"
		case !certificate.BasicConstraintsValid || !certificate.IsCA:
			rule = "is not of an authority"
		case seen[string(block.Bytes)]:
			rule = "is there twice"
		}
		if rule != "" {
			c.bad(at, "<certificates omitted>", fmt.Sprintf("block %d %s", count, rule))
		}
		seen[string(block.Bytes)] = true
		count++
	}
	if count == 0 {
		c.missing(at, "at least one certificate in PEM")
	}
}
