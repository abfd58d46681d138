package manifest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// reader holds what is particular to one kind of object that pods use.
type reader struct {
	node.Kind
	also  []string // other versions, which differ in nothing but their names
	check func(node.Value) field.ErrorList
}

// readers returns one reader for each kind of the node's table.
func readers() []reader {
	var all []reader
	for _, kind := range node.Kinds() {
		r := reader{Kind: kind}
		switch kind.Name {
		case node.ConfigMap:
			r.check = checked(checkConfigMap)
		case node.Secret:
			r.check = checked(checkSecret)
		case node.PersistentVolume:
			r.check = checked(checkVolume)
		case node.PersistentVolumeClaim:
			r.check = checked(checkClaim)
		case node.RuntimeClass:
			r.check = checked(checkRuntimeClass)
		case node.ClusterTrustBundle:
			r.check = checked(checkTrustBundle)
			r.also = []string{kind.Version + "beta1", kind.Version + "alpha1"}
		}
		all = append(all, r)
	}
	return all
}

// checked adapts the check of one type.
func checked[T node.Value](check func(T) field.ErrorList) func(node.Value) field.ErrorList {
	return func(value node.Value) field.ErrorList { return check(value.(T)) }
}

// Takes says whether manifests may hold objects of a kind for pods to use.
func Takes(kind node.ObjectKind) bool {
	return slices.ContainsFunc(readers(), func(r reader) bool { return r.Name == kind })
}

// Kinds lists, in words, the kinds that a manifest may contain.
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
		taken = append(taken, string(r.Name))
	}
	return strings.Join(append(taken, "PodList"), ", ") + " or List"
}
