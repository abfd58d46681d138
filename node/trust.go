package node

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A ClusterTrustBundle is named after its signer, if it has one: example.com:ca:v1
// belongs to example.com/ca. Pods use one bundle by its name, or all of a signer. The
// latter are a family, whose ref has the signer's name. Bundles' own names have no slash.

// SignerOf returns the signer in a ClusterTrustBundle's name, or "" if it has none.
func SignerOf(bundle string) string {
	if i := strings.LastIndexByte(bundle, ':'); i >= 0 {
		return strings.ReplaceAll(bundle[:i], ":", "/")
	}
	return ""
}

// Family refers to all objects that are used together with this one: the bundles
// of its signer. Any other object is a family of its own.
func (r ObjectRef) Family() ObjectRef {
	if signer := SignerOf(r.Name); r.Kind == ClusterTrustBundle && signer != "" {
		r.Name = signer
	}
	return r
}

// bundleRef refers to the bundle, or the family of bundles, that a source of a volume shows.
func bundleRef(source *corev1.ClusterTrustBundleProjection) ObjectRef {
	ref := ObjectRef{Kind: ClusterTrustBundle}
	switch {
	case source.Name != nil:
		ref.Name = *source.Name
	case source.SignerName != nil:
		ref.Name = *source.SignerName
	}
	return ref
}
