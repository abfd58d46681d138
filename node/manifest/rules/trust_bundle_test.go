package rules_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	"nodal/node/manifest"
)

// certificate makes one in PEM, of an authority or of another owner.
func certificate(t *testing.T, serial int64, authority bool) string {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), IsCA: authority, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(nil, template, template, public, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func trustBundle(version, name, signer, text string) string {
	return "apiVersion: certificates.k8s.io/" + version + "\nkind: ClusterTrustBundle\nmetadata: {name: '" + name + "', namespace: ignored, labels: {a: b}}\n" +
		"spec:\n  signerName: '" + signer + "'\n  trustBundle: |\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}

func TestTrustBundlesAreOneInAllVersions(t *testing.T) {
	text := "a comment\n" + certificate(t, 1, true) + certificate(t, 2, true)
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		docs, err := manifest.Decode([]byte(trustBundle(version, "example.com:ca:a", "example.com/ca", text)), manifest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := docs[0].Object
		if got.Ref().String() != "ClusterTrustBundle example.com:ca:a" || got.Trust().APIVersion != "certificates.k8s.io/v1" || got.Trust().Labels["a"] != "b" {
			t.Errorf("%s: got %+v", version, got.Trust())
		}
	}
}

func TestTrustBundlesFollowKubernetesRules(t *testing.T) {
	good := certificate(t, 1, true)
	for _, c := range []struct {
		name         string
		called, by   string
		text         string
		field, wrong string
	}{
		{"a name with a colon and no signer", "a:b", "", good, "metadata.name", "subdomain"},
		{"a name that is not of its signer", "example.com:other:a", "example.com/ca", good, "metadata.name", "begin with the signer's name"},
		{"nothing behind the signer's name", "example.com:ca:", "example.com/ca", good, "metadata.name", "subdomain"},
		{"a signer without a domain", "example:ca:a", "example/ca", good, "spec.signerName", "a domain and a path"},
		{"a signer with two paths", "example.com:ca:b:a", "example.com/ca/b", good, "spec.signerName", "subdomain"},
		{"no certificate", "a", "", "nothing", "spec.trustBundle", "at least one"},
		{"a key", "a", "", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})), "spec.trustBundle", "block 0 is PRIVATE KEY"},
		{"headers", "a", "", strings.Replace(good, "-----\n", "-----\nBy: me\n\n", 1), "spec.trustBundle", "block 0 has headers"},
		{"no X.509", "a", "", good + string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})), "spec.trustBundle", "block 1 is no X.509"},
		{"a certificate of no authority", "a", "", certificate(t, 2, false), "spec.trustBundle", "not of an authority"},
		{"one twice", "a", "", good + good, "spec.trustBundle", "block 1 is there twice"},
		{"a megabyte and more", "a", "", strings.Repeat("x", 1<<20) + good, "spec.trustBundle", "may not be more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := manifest.Decode([]byte(trustBundle("v1beta1", c.called, c.by, c.text)), manifest.Options{})
			if err == nil || !strings.Contains(err.Error(), c.field) || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("got %v, want at %s: %s", err, c.field, c.wrong)
			}
		})
	}
}
