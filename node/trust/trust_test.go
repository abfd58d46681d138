package trust

import (
	"encoding/pem"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// bundle returns a bundle with certificates, which are not parsed.
func bundle(name string, labels map[string]string, certificates ...string) *node.Object {
	text := "what is between blocks is nobody's\n"
	for _, c := range certificates {
		text += string(pem.EncodeToMemory(&pem.Block{Type: Certificate, Bytes: []byte(c)}))
	}
	return node.NewObject(&certificatesv1.ClusterTrustBundle{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       certificatesv1.ClusterTrustBundleSpec{SignerName: node.SignerOf(name), TrustBundle: text},
	})
}

// certificates splits a file into its certificates.
func certificates(text []byte) string {
	var all []string
	for block := range Blocks(string(text)) {
		all = append(all, string(block.Bytes))
	}
	return strings.Join(all, " ")
}

func TestAnchors(t *testing.T) {
	bundles := []*node.Object{
		bundle("root", nil, "d", "a"),
		bundle("example.com:ca:v1", map[string]string{"live": "yes"}, "c", "b"),
		bundle("example.com:ca:v2", map[string]string{"live": "yes", "new": "yes"}, "b", "a"),
		bundle("example.com:ca:old", nil, "o"),
		bundle("example.com:other:v1", map[string]string{"live": "yes"}, "x"),
	}
	const signer = "example.com/ca"
	named := func(name string) corev1.ClusterTrustBundleProjection {
		return corev1.ClusterTrustBundleProjection{Name: &name}
	}
	signed := func(signer string, s *metav1.LabelSelector) corev1.ClusterTrustBundleProjection {
		return corev1.ClusterTrustBundleProjection{SignerName: &signer, LabelSelector: s}
	}
	live := &metav1.LabelSelector{MatchLabels: map[string]string{"live": "yes"}}
	for _, c := range []struct {
		name   string
		source corev1.ClusterTrustBundleProjection
		want   string // or the error
	}{
		{"one by its name, in an order of its own", named("root"), "a d"},
		{"one of a signer by its name", named("example.com:ca:v1"), "b c"},
		{"those with the labels, each certificate once", signed(signer, live), "a b c"},
		{"an empty selector takes all of the signer", signed(signer, &metav1.LabelSelector{}), "a b c o"},
		{"an expression", signed(signer, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "new", Operator: metav1.LabelSelectorOpDoesNotExist}}}), "b c o"},
		{"no selector takes none", signed(signer, nil), `no clustertrustbundle of signer "example.com/ca" is selected`},
		{"a name that is not there", named("example.com:ca:v3"), `clustertrustbundle "example.com:ca:v3" not found`},
		{"a signer that is not there", signed("example.com/none", live), `no clustertrustbundle of signer "example.com/none" is selected`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := Anchors(&c.source, bundles)
			got := certificates(text)
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if c.source.Optional = new(true); err != nil {
				if text, err := Anchors(&c.source, bundles); err != nil || len(text) > 0 {
					t.Errorf("where it is optional: got %q, %v, want an empty file", text, err)
				}
			}
		})
	}
}
