package cluster

import (
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	controlplane "nodal/test/plane"
)

const trustPath = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles"

// trusting is a pod with two volumes of certificates: a bundle by name, and all bundles of a
// signer.
var trusting = manifest("trusting", `  volumes:
  - name: trust
    projected:
      sources:
      - clusterTrustBundle: {name: root, path: root.pem}
      - clusterTrustBundle: {signerName: example.com/ca, labelSelector: {matchLabels: {live: "yes"}}, path: live.pem}
`+strings.Replace(sleeper, "}\n", ", volumeMounts: [{name: trust, mountPath: /trust}]}\n", 1))

// entrust creates a bundle with the label that pods select.
func (p *plane) entrust(name string, certificates ...string) {
	p.t.Helper()
	text, err := json.Marshal(certificatesv1.ClusterTrustBundle{
		TypeMeta:   metav1.TypeMeta{APIVersion: "certificates.k8s.io/v1beta1", Kind: "ClusterTrustBundle"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"live": "yes"}},
		Spec:       certificatesv1.ClusterTrustBundleSpec{SignerName: node.SignerOf(name), TrustBundle: strings.Join(certificates, "")},
	})
	must(p.t, err)
	p.ask("POST", trustPath, "application/json", string(text))
}

// authorities returns two certificates in PEM, in the order in which pods see them.
func authorities(t *testing.T) (string, string) {
	t.Helper()
	one, err := controlplane.NewAuthority()
	must(t, err)
	other, err := controlplane.NewAuthority()
	must(t, err)
	if slices.Compare(one.Cert.Raw, other.Cert.Raw) > 0 {
		one, other = other, one
	}
	text := func(a *controlplane.Authority) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Cert.Raw}))
	}
	return text(one), text(other)
}

// trusts follows bundles from the cluster into a pod. They leave the node with it.
func (w *world) trusts() {
	w.t.Helper()
	a, b := authorities(w.t)
	w.entrust("root", a)
	w.entrust("example.com:ca:v1", b)
	w.entrust("nobodys", a)
	w.create(podsPath, trusting)
	w.await("trusting", "ready", ready)
	shown := func() string { return w.inside("trusting", "cat /trust/root.pem; echo; cat /trust/live.pem") }
	if got := shown(); got != a+"\n"+b {
		w.t.Errorf("the pod is shown %q", got)
	}
	if got := w.shelf(); strings.Contains(got, "nobodys") || !strings.Contains(got, "example.com:ca:v1") {
		w.t.Errorf("the node has %s, want what the pod uses", got)
	}
	w.entrust("example.com:ca:v2", a)
	w.eventually("all that the signer has", func() bool { return shown() == a+"\n"+a+b })
	w.ask("DELETE", trustPath+"/example.com:ca:v1", "", "")
	w.eventually("what it has left", func() bool { return shown() == a+"\n"+a })
	w.ask("DELETE", podsPath+"/trusting", "", "")
	w.awaitGone("trusting")
}

// lacksTrust reports whether a pod waits for a bundle.
func lacksTrust(p *corev1.Pod) bool {
	return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Waiting != nil &&
		strings.Contains(p.Status.ContainerStatuses[0].State.Waiting.Message, `clustertrustbundle "root" not found`)
}
