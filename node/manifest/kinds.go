package manifest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
	"nodal/node/manifest/rules"
)

// reader holds what is particular to one kind of object that pods use.
type reader struct {
	node.Kind
	also     []string // other versions, which differ in nothing but their names
	complete func(node.Value)
	check    func(node.Value) field.ErrorList
}

// readers returns one reader for each kind of the node's table.
func readers() []reader {
	var all []reader
	for _, kind := range node.Kinds() {
		r := reader{Kind: kind}
		switch kind.Name {
		case node.ConfigMap:
			r.complete, r.check = of(nil, rules.ConfigMap)
		case node.Secret:
			r.complete, r.check = of(defaultSecret, rules.Secret)
		case node.PersistentVolume:
			r.complete, r.check = of(defaultPersistentVolume, rules.PersistentVolume)
		case node.PersistentVolumeClaim:
			r.complete, r.check = of(defaultPersistentVolumeClaim, rules.PersistentVolumeClaim)
		case node.RuntimeClass:
			r.complete, r.check = of(defaultRuntimeClass, rules.RuntimeClass)
		case node.ClusterTrustBundle:
			r.complete, r.check = of(nil, rules.ClusterTrustBundle)
			r.also = []string{kind.Version + "beta1", kind.Version + "alpha1"}
		case node.PriorityClass:
			r.complete, r.check = of(defaultPriorityClass, rules.PriorityClass)
		case node.NetworkPolicy:
			r.complete, r.check = of(defaultNetworkPolicy, rules.NetworkPolicy)
		case node.CSIDriverObject:
			r.complete, r.check = of(defaultCSIDriver, rules.CSIDriver)
		case node.Lease:
			r.complete, r.check = of(nil, rules.Lease)
		case node.ReplicaSet:
			r.complete, r.check = of(defaultReplicaSet, rules.ReplicaSet)
		case node.Deployment:
			r.complete, r.check = of(defaultDeployment, rules.Deployment)
		case node.Job:
			r.complete, r.check = of(defaultJob, rules.Job)
		case node.DaemonSet:
			r.complete, r.check = of(defaultDaemonSet, rules.DaemonSet)
		case node.StatefulSet:
			r.complete, r.check = of(defaultStatefulSet, rules.StatefulSet)
		case node.CronJob:
			r.complete, r.check = of(defaultCronJob, rules.CronJob)
		case node.ControllerRevision:
			r.complete, r.check = of(nil, rules.ControllerRevision)
		case node.Service:
			r.complete, r.check = of(defaultService, rules.Service)
		case node.EndpointSlice:
			r.complete, r.check = of(defaultEndpointSlice, rules.EndpointSlice)
		}
		all = append(all, r)
	}
	return all
}

// of adapts the defaults and the rules of one type. A nil complete adds no defaults.
func of[T node.Value](complete func(T), check func(T) field.ErrorList) (func(node.Value), func(node.Value) field.ErrorList) {
	return func(value node.Value) {
			if complete != nil {
				complete(value.(T))
			}
		}, func(value node.Value) field.ErrorList {
			return check(value.(T))
		}
}

// Takes reports whether manifests may hold objects of a kind for pods to use.
func Takes(kind node.ObjectKind) bool {
	return slices.ContainsFunc(readers(), func(r reader) bool { return r.Name == kind })
}

// Kinds lists, in words, the kinds that a manifest may contain.
func Kinds() string {
	taken := []string{"Pod"}
	for _, r := range readers() {
		taken = append(taken, string(r.Name))
	}
	return strings.Join(append(taken, "PodList"), ", ") + " or List"
}
