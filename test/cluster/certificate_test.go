package cluster

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/test/claim"
	"nodal/test/daemon"
	controlplane "nodal/test/plane"
	"nodal/test/rig"
)

func TestANodeAsksForItsCertificate(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"with a bootstrap credential a node asks the cluster for its certificate, and joins with it",
		"a request that is denied is followed by another",
		"a certificate that is about to expire is replaced",
	)
	p := startPlane(t)
	p.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: join}\n"+
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: \"system:node-bootstrapper\"}\n"+
		"subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: \"system:bootstrappers\"}]\n")
	dir := t.TempDir()
	own := filepath.Join(dir, "kubelet.conf")
	w := &world{plane: p, node: daemon.Start(t, rig.Containerd(t), "--bootstrap-kubeconfig", p.kubeconfig(controlplane.Joins),
		"--kubeconfig", own, "--cert-dir", filepath.Join(dir, "pki"), "--rotate-certificates")}

	denied := w.request("")
	w.decide(denied, certificatesv1.CertificateDenied, "NotThisOne")
	first := w.request(denied.Name)
	w.node.Kill()
	w.node.Launch()
	if again := w.request(denied.Name); again.Name != first.Name {
		t.Errorf("after a restart the node asks by %s, and not by %s", again.Name, first.Name)
	}
	now := time.Now()
	w.issue(first, now.Add(-time.Hour), now.Add(2*time.Minute)) // most of its life is over
	w.eventually("a node", func() bool { _, ok := get[corev1.Node](w.plane, "/api/v1/nodes/node-a"); return ok })

	second := w.request(denied.Name, first.Name)
	if second.Spec.Username != "system:node:node-a" {
		t.Errorf("the second certificate is asked for by %s", second.Spec.Username)
	}
	w.issue(second, now.Add(-time.Minute), now.Add(time.Hour))
	w.eventually("the second certificate", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "pki/kubelet-client-current.pem"))
		must(t, err)
		block, _ := pem.Decode(text)
		leaf, err := x509.ParseCertificate(block.Bytes)
		must(t, err)
		return leaf.NotAfter.After(now.Add(30 * time.Minute))
	})

	w.node.Kill()
	w.node.Launch() // the agent uses its own kubeconfig now
	w.create(podsPath, manifest("web", sleeper))
	w.await("web", "ready", ready)
}

func TestTheClusterIssuesTheServingCertificate(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"a node serves with a certificate that the cluster issues for its name and addresses, and with its own until then",
		"a serving certificate that is about to expire is replaced",
		"with --register-node=false the node makes no Node object, but keeps the status of an existing one",
		"rest_client_* count the node's requests to the API server, and kubelet_certificate_manager_* its certificates",
	)
	p := startPlane(t)
	w := &world{plane: p, node: daemon.Start(t, rig.Containerd(t), "--kubeconfig", p.kubeconfig(controlplane.Node), "--rotate-server-certificates", "--register-node=false")}
	first := w.request("")
	if _, ok := get[corev1.Node](w.plane, "/api/v1/nodes/node-a"); ok {
		t.Error("the node has made its Node object itself")
	}
	w.create("/api/v1/nodes", "apiVersion: v1\nkind: Node\nmetadata: {name: node-a, labels: {by: us}}\n")
	if first.Spec.SignerName != certificatesv1.KubeletServingSignerName || first.Spec.Username != "system:node:node-a" {
		t.Errorf("the request is %s's, to %s", first.Spec.Username, first.Spec.SignerName)
	}
	if code, text := w.server(w.own("viewer"), "GET", "/healthz"); code != http.StatusOK {
		t.Errorf("without a certificate of the cluster the node answers %d %s", code, text)
	}
	now := time.Now()
	w.issue(first, now.Add(-time.Hour), now.Add(2*time.Minute)) // most of its life is over
	served := func() *x509.Certificate {
		conn, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", w.node.Port), &tls.Config{RootCAs: w.Clients.Pool(), ServerName: "node-a"})
		if err != nil {
			return nil
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0]
	}
	w.eventually("the cluster's certificate", func() bool { return served() != nil })
	if len(served().IPAddresses) == 0 {
		t.Error("the certificate is for no address")
	}
	second := w.request(first.Name)
	w.issue(second, now.Add(-time.Minute), now.Add(time.Hour))
	w.eventually("the second certificate", func() bool { c := served(); return c != nil && c.NotAfter.After(now.Add(30*time.Minute)) })
	w.eventually("the node's status", func() bool {
		n, _ := get[corev1.Node](w.plane, "/api/v1/nodes/node-a")
		return n.Labels["by"] == "us" && n.Status.NodeInfo.KubeletVersion != "" && n.Labels[corev1.LabelHostname] == ""
	})
	_, counts := w.server(w.own("viewer"), "GET", "/metrics")
	for _, line := range []string{
		`rest_client_requests_total\{code="201",host="[^"]+",method="POST"\} [1-9]`, `rest_client_request_duration_seconds_count\{host="[^"]+",verb="GET"\} [1-9]`,
		`kubelet_certificate_manager_server_rotation_seconds_count 1`, `kubelet_certificate_manager_server_ttl_seconds [1-9]`,
	} {
		if !regexp.MustCompile("(?m)^" + line).MatchString(counts) {
			t.Errorf("the node's metrics have no line %s", line)
		}
	}
}

const requestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

// request waits for a certificate request that is not among the known ones.
func (w *world) request(known ...string) (found certificatesv1.CertificateSigningRequest) {
	w.t.Helper()
	w.eventually("a certificate request", func() bool {
		list, _ := get[certificatesv1.CertificateSigningRequestList](w.plane, requestsPath)
	next:
		for _, r := range list.Items {
			for _, name := range known {
				if r.Name == name {
					continue next
				}
			}
			found = r
			return true
		}
		return false
	})
	return found
}

// decide approves or denies a request, as a cluster's owner would.
func (w *world) decide(r certificatesv1.CertificateSigningRequest, what certificatesv1.RequestConditionType, reason string) {
	w.t.Helper()
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: what, Status: corev1.ConditionTrue, Reason: reason, LastUpdateTime: metav1.Now(),
	})
	w.put(requestsPath+"/"+r.Name+"/approval", r)
}

// issue approves and signs a request, as a cluster's controllers would.
func (w *world) issue(r certificatesv1.CertificateSigningRequest, from, to time.Time) {
	w.t.Helper()
	w.decide(r, certificatesv1.CertificateApproved, "Test")
	approved, _ := get[certificatesv1.CertificateSigningRequest](w.plane, requestsPath+"/"+r.Name)
	approved.Status.Certificate = w.sign(r.Spec, from, to)
	w.put(requestsPath+"/"+r.Name+"/status", approved)
}

func (w *world) put(path string, object any) {
	w.t.Helper()
	body, err := json.Marshal(object)
	must(w.t, err)
	w.ask("PUT", path, "application/json", string(body))
}

// sign signs a certificate as the control plane's signers do.
func (w *world) sign(r certificatesv1.CertificateSigningRequestSpec, from, to time.Time) []byte {
	w.t.Helper()
	block, _ := pem.Decode(r.Request)
	wanted, err := x509.ParseCertificateRequest(block.Bytes)
	must(w.t, err)
	usage := x509.ExtKeyUsageClientAuth
	if r.SignerName == certificatesv1.KubeletServingSignerName {
		usage = x509.ExtKeyUsageServerAuth
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(from.UnixNano()), Subject: wanted.Subject, DNSNames: wanted.DNSNames, IPAddresses: wanted.IPAddresses,
		NotBefore: from, NotAfter: to, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}, w.Clients.Cert, wanted.PublicKey, w.Clients.Key)
	must(w.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
