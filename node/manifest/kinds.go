package manifest

import (
	"slices"
	"strings"

	"nodal/node"
)

// reader reads one kind of object that pods use.
type reader struct {
	kind     node.ObjectKind
	versions []string
	read     func(*bundle, place, []byte)
}

func readers() []reader {
	core := []string{"v1"}
	return []reader{
		{node.ConfigMap, core, (*bundle).configMap},
		{node.Secret, core, (*bundle).secret},
		{node.PersistentVolume, core, (*bundle).persistentVolume},
		{node.PersistentVolumeClaim, core, (*bundle).claim},
		{node.RuntimeClass, []string{runtimeClassVersion}, (*bundle).runtimeClass},
		// The versions differ in nothing but their names.
		{node.ClusterTrustBundle, []string{trustVersion, trustVersion + "beta1", trustVersion + "alpha1"}, (*bundle).trustBundle},
	}
}

// Takes says whether manifests may hold objects of a kind for pods to use.
func Takes(kind node.ObjectKind) bool {
	return slices.ContainsFunc(readers(), func(r reader) bool { return r.kind == kind })
}

// Kinds are what may stand in a manifest, in words.
func Kinds() string { return new(bundle).kinds() }

func (b *bundle) readers() []reader {
	if b.podsOnly {
		return nil
	}
	return readers()
}

func (b *bundle) kinds() string {
	taken := []string{"Pod"}
	for _, r := range b.readers() {
		taken = append(taken, string(r.kind))
	}
	return strings.Join(append(taken, "PodList"), ", ") + " or List"
}
