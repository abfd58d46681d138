// Package trust selects the certificates of ClusterTrustBundles that a pod is shown. It is
// pure.
package trust

import (
	"encoding/pem"
	"fmt"
	"iter"
	"maps"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"nodal/node"
)

// Certificate is the type of the PEM blocks in bundles.
const Certificate = "CERTIFICATE"

// Anchors builds the file of a projected source: the certificates of the chosen bundles, each
// once. It sorts them, so that no reader comes to rely on the order of the bundles. An empty
// choice is an error unless the source is optional.
func Anchors(source *corev1.ClusterTrustBundleProjection, bundles []*node.Object) ([]byte, error) {
	chosen, err := choose(source, bundles)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, bundle := range chosen {
		for block := range Blocks(bundle.Spec.TrustBundle) {
			found[string(block.Bytes)] = true
		}
	}
	var text []byte
	for _, certificate := range slices.Sorted(maps.Keys(found)) {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: Certificate, Bytes: []byte(certificate)})...)
	}
	return text, nil
}

func choose(source *corev1.ClusterTrustBundleProjection, bundles []*node.Object) ([]*certificatesv1.ClusterTrustBundle, error) {
	// No selector at all selects nothing, an empty one everything.
	selector, err := metav1.LabelSelectorAsSelector(source.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("read the label selector: %w", err)
	}
	var chosen []*certificatesv1.ClusterTrustBundle
	for _, o := range bundles {
		named := source.Name != nil && *source.Name == o.Trust().Name
		signed := source.SignerName != nil && *source.SignerName == o.Trust().Spec.SignerName
		if named || signed && selector.Matches(labels.Set(o.Trust().Labels)) {
			chosen = append(chosen, o.Trust())
		}
	}
	switch {
	case len(chosen) > 0 || source.Optional != nil && *source.Optional:
		return chosen, nil
	case source.Name != nil:
		return nil, fmt.Errorf("clustertrustbundle %q not found", *source.Name)
	}
	return nil, fmt.Errorf("no clustertrustbundle of signer %q is selected", *source.SignerName)
}

// Blocks yields the PEM blocks of a text. Text between them is ignored.
func Blocks(text string) iter.Seq[*pem.Block] {
	return func(yield func(*pem.Block) bool) {
		block, rest := pem.Decode([]byte(text))
		for block != nil && yield(block) {
			block, rest = pem.Decode(rest)
		}
	}
}
