package cluster

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/rig"
)

func TestANodeJoinsWithABootstrapToken(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"a node joins with a bootstrap token that the API server looks up among its Secrets, and controllers of the cluster approve and sign its certificate",
		"a node whose bootstrap token has expired says so, and joins when there is another in the file",
	)
	p := startPlane(t, "--enable-bootstrap-token-auth")
	p.takeTokens()
	must(t, p.StartControllers())
	expired, valid := p.bootstrapToken("aaaaaa", -time.Hour), p.bootstrapToken("bbbbbb", time.Hour)
	dir := t.TempDir()
	bootstrap, own := filepath.Join(dir, "bootstrap-kubelet.conf"), filepath.Join(dir, "kubelet.conf")
	p.writeKubeconfig(bootstrap, expired)
	w := &world{plane: p, node: daemon.Start(t, rig.Containerd(t), "--bootstrap-kubeconfig", bootstrap, "--kubeconfig", own,
		"--cert-dir", filepath.Join(dir, "pki"), "--rotate-certificates", "--eviction-hard", "nodefs.available<1%")}
	w.eventually("a log that says why there is no certificate yet", func() bool {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(w.node.Dir), "agent.log"))
		must(t, err)
		return strings.Contains(string(text), "Unauthorized")
	})
	if code, _ := w.try("GET", nodePath, "", nil); code != http.StatusNotFound {
		t.Errorf("with an expired token the answer for the Node object is %d, want 404", code)
	}
	p.writeKubeconfig(bootstrap, valid)
	w.eventually("a node that is ready", func() bool { n, ok := get[corev1.Node](w.plane, nodePath); return ok && nodeReady(n) })
	asked := w.request("")
	if got, want := asked.Spec.Username, "system:bootstrap:bbbbbb"; got != want {
		t.Errorf("the certificate was asked for by %s, want %s", got, want)
	}
	for _, c := range asked.Status.Conditions {
		if c.Type == certificatesv1.CertificateApproved && c.Reason != "AutoApproved" {
			t.Errorf("the certificate was approved as %s, want by the cluster's controller", c.Reason)
		}
	}
	w.ask("DELETE", "/api/v1/namespaces/kube-system/secrets/bootstrap-token-bbbbbb", "", "")
	w.node.Kill()
	w.node.Launch() // the token is of no use any more
	w.create(podsPath, manifest("web", sleeper))
	w.await("web", "ready", ready)
}

// takeTokens lets nodes with a bootstrap token ask for a certificate, which the cluster's controller approves.
func (p *plane) takeTokens() {
	p.t.Helper()
	for name, role := range map[string]string{
		"join": "system:node-bootstrapper", "approve": "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
	} {
		p.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "%s"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:bootstrappers:nodes"}]
`, name, role))
	}
}

// bootstrapToken makes the Secret of a token, and returns the token.
func (p *plane) bootstrapToken(id string, lasts time.Duration) string {
	p.t.Helper()
	secret := strings.Repeat(id[:4], 4)
	p.create("/api/v1/namespaces/kube-system/secrets", fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: bootstrap-token-%s}
type: bootstrap.kubernetes.io/token
stringData:
  token-id: %s
  token-secret: %s
  expiration: %q
  usage-bootstrap-authentication: "true"
  auth-extra-groups: system:bootstrappers:nodes
`, id, id, secret, time.Now().Add(lasts).UTC().Format(time.RFC3339)))
	return id + "." + secret
}

// writeKubeconfig writes a kubeconfig with a token. The file is replaced whole.
func (p *plane) writeKubeconfig(path, token string) {
	p.t.Helper()
	must(p.t, os.WriteFile(path+".new", fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:%d", certificate-authority: %s}}]
users: [{name: u, user: {token: %s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, p.Ports.Secure, p.File("certs/apiserver.crt"), token), 0o600))
	must(p.t, os.Rename(path+".new", path))
}
