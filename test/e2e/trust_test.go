package e2e

import (
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
	"nodal/test/plane"
)

// trusting is a pod with certificates in every kind of volume source.
const trusting = `apiVersion: v1
kind: Pod
metadata: {name: trusting}
spec:
  terminationGracePeriodSeconds: 1
  volumes:
  - name: trust
    projected:
      sources:
      - clusterTrustBundle: {name: root, path: root.pem}
      - clusterTrustBundle: {signerName: example.com/ca, labelSelector: {matchLabels: {live: "yes"}}, path: deep/live.pem}
      - clusterTrustBundle: {signerName: example.com/ca, labelSelector: {}, optional: true, path: all.pem}
      - clusterTrustBundle: {signerName: example.com/ca, optional: true, path: none.pem}
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    volumeMounts: [{name: trust, mountPath: /trust}]
`

// trustBundle returns a bundle of certificates. If it belongs to a signer, its name begins with the
// signer's.
func trustBundle(name, labels string, certificates ...string) string {
	signer := ""
	if parts := strings.Split(name, ":"); len(parts) == 3 {
		signer = "  signerName: " + parts[0] + "/" + parts[1] + "\n"
	}
	return "---\napiVersion: certificates.k8s.io/v1beta1\nkind: ClusterTrustBundle\nmetadata: {name: '" + name + "', labels: {" + labels + "}}\nspec:\n" + signer +
		"  trustBundle: |\n    " + strings.ReplaceAll(strings.Join(certificates, ""), "\n", "\n    ") + "\n"
}

// authorities returns certificates in PEM, in the order in which pods see them.
func authorities(t *testing.T, count int) []string {
	t.Helper()
	var all [][]byte
	for range count {
		authority, err := plane.NewAuthority()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, authority.Cert.Raw)
	}
	slices.SortFunc(all, slices.Compare)
	var texts []string
	for _, raw := range all {
		texts = append(texts, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})))
	}
	return texts
}

func TestPodsGetTrustBundles(t *testing.T) {
	claim.Shows(t, "Volumes",
		"a pod waits for missing ClusterTrustBundles, by name and by signer, says which, and starts when they are posted",
		"projected volumes show the certificates of ClusterTrustBundles, each once and in an order of their own; optional ones may be missing",
		"a ClusterTrustBundle that comes, changes or goes shows in running pods without a restart, also after the agent's",
		"a ClusterTrustBundle that holds anything but authorities' certificates, or is not named after its signer, is refused at its field",
	)
	n := start(t)
	certs := authorities(t, 3)
	a, b, c := certs[0], certs[1], certs[2]
	n.apply(trusting)
	n.wait("trusting", "it waits and says for what", func(p *corev1.Pod) bool {
		return p.Status.Reason == "FailedMount" && strings.Contains(p.Status.Message, `clustertrustbundle "root" not found`) &&
			strings.Contains(p.Status.Message, `no clustertrustbundle of signer "example.com/ca" is selected`)
	})
	n.apply(trustBundle("root", "", c, a) + trustBundle("example.com:ca:v1", `live: "yes"`, b, a) + trustBundle("example.com:ca:old", "", c))
	n.waitRunning("trusting")
	n.wantTrust("root.pem", a+c)
	n.wantTrust("deep/live.pem", a+b)
	n.wantTrust("all.pem", a+b+c)
	n.wantTrust("none.pem", "")

	n.apply(trustBundle("example.com:ca:v2", `live: "yes"`, c, b))
	n.wantTrust("deep/live.pem", a+b+c)
	n.apply(trustBundle("root", "", b))
	n.wantTrust("root.pem", b)
	if got := n.curl("/v1/clustertrustbundles/example.com:ca:v1", "-X", "DELETE"); got.code != 200 {
		t.Errorf("delete: got %s", got)
	}
	n.wantTrust("deep/live.pem", b+c)
	n.Kill()
	n.up()
	n.wantTrust("deep/live.pem", b+c)
	n.apply(trustBundle("example.com:ca:v3", `live: "yes"`, a))
	n.wantTrust("deep/live.pem", a+b+c)
	if p := n.waitRunning("trusting"); containerStatus(p, "main").RestartCount != 0 {
		t.Errorf("it was restarted")
	}

	for _, bad := range []struct{ bundle, field string }{
		{strings.Replace(trustBundle("example.com:other:v1", "", a), "com/other", "com/ca", 1), "metadata.name"},
		{trustBundle("twice", "", a, a), "spec.trustBundle"},
		{trustBundle("key", "", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}))), "spec.trustBundle"},
	} {
		if got := n.curl("/v1/manifests", "--data-binary", bad.bundle); got.code != 400 || !strings.Contains(got.body, bad.field) {
			t.Errorf("got %s, want 400 and %s", got, bad.field)
		}
	}
}

// wantTrust waits until the pod sees these certificates in a file.
func (n *node) wantTrust(name, want string) {
	n.t.Helper()
	n.eventually(name+" as it should be", func() bool { return n.inside("trusting", "main", "cat /trust/"+name) == want })
}
