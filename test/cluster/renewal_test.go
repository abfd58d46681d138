package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/rig"
)

// embedded writes a kubeconfig as kubeadm does for a control plane's first node: the certificate and the key stand in it.
func (p *plane) embedded(from, to time.Time) (path string, leaf *x509.Certificate) {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(p.t, err)
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:node-a"},
	}, key)
	must(p.t, err)
	w := &world{plane: p}
	certificate := w.sign(certificatesv1.CertificateSigningRequestSpec{
		Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}),
	}, from, to)
	der, err := x509.MarshalECPrivateKey(key)
	must(p.t, err)
	path = filepath.Join(p.t.TempDir(), "kubelet.conf")
	must(p.t, os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:%d", certificate-authority: %s}}]
users: [{name: u, user: {client-certificate-data: %s, client-key-data: %s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, p.Ports.Secure, p.File("certs/apiserver.crt"), base64.StdEncoding.EncodeToString(certificate),
		base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))), 0o600))
	return path, leafOf(p.t, certificate)
}

func leafOf(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("there is no certificate in %q", text)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	return leaf
}

func TestTheFirstControlPlanesCertificateIsRenewedByItsCluster(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"the client certificate that stands in the kubeconfig, as on a control plane's first node, moves to a file of the node, and the cluster's own signer renews it again and again",
	)
	p := startPlane(t)
	p.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: renew}\n"+
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: \"system:certificates.k8s.io:certificatesigningrequests:selfnodeclient\"}\n"+
		"subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: \"system:nodes\"}]\n")
	// The signer dates certificates back by five minutes, so that most of the life of these is over soon.
	must(t, p.StartControllers("--cluster-signing-duration", "70s"))
	now := time.Now()
	kubeconfig, given := p.embedded(now.Add(-time.Hour), now.Add(2*time.Minute))
	own := filepath.Join(t.TempDir(), "pki", "kubelet-client-current.pem")
	w := &world{plane: p, node: daemon.Start(t, rig.Containerd(t), "--kubeconfig", kubeconfig, "--cert-dir", filepath.Dir(own), "--rotate-certificates")}
	seen := map[string]bool{}
	w.eventually("the certificate of the kubeconfig and two of the cluster's signer", func() bool {
		text, err := os.ReadFile(own)
		if os.IsNotExist(err) {
			return false
		}
		must(t, err)
		leaf := leafOf(t, text)
		if name := leaf.Subject.CommonName; name != "system:node:node-a" {
			t.Fatalf("the node has a certificate of %s", name)
		}
		if leaf.SerialNumber.Cmp(given.SerialNumber) != 0 {
			seen[leaf.SerialNumber.String()] = true
		}
		return len(seen) >= 2
	})
	w.node.Kill()
	w.node.Launch() // with the renewed one: that of the kubeconfig is older
	text, err := os.ReadFile(own)
	must(t, err)
	if leafOf(t, text).SerialNumber.Cmp(given.SerialNumber) == 0 {
		t.Error("after a restart the node is back at the certificate of the kubeconfig")
	}
	w.create(podsPath, manifest("web", sleeper))
	w.await("web", "ready", ready)
}
