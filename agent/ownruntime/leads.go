package ownruntime

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/host/podnet"
	"nodal/host/podnet/service"
	"nodal/node"
	"nodal/node/store"
)

// leads reads from the store where services lead. It is asked after each change of the node, so it remembers its last answer.
type leads struct {
	store    *store.Store
	services []*node.Object
	slices   []*node.Object
	going    map[types.UID]bool
	ports    []service.Port
}

var _ podnet.Leads = (*leads)(nil)

// Ports returns the ports of the services, and whether there is a service.
func (l *leads) Ports() ([]service.Port, bool) {
	services, _ := l.store.Objects(node.Service)
	all, _ := l.store.Objects(node.EndpointSlice)
	going := l.ending(all)
	if !slices.Equal(services, l.services) || !slices.Equal(all, l.slices) || !maps.Equal(going, l.going) {
		l.services, l.slices, l.going = services, all, going
		l.ports = service.Compile(service.Objects{
			Services: valuesOf[*corev1.Service](services), Slices: valuesOf[*discoveryv1.EndpointSlice](all),
			Going: func(uid types.UID) bool { return going[uid] },
		})
	}
	return l.ports, len(services) > 0
}

func valuesOf[T node.Value](objects []*node.Object) (all []T) {
	for _, o := range objects {
		all = append(all, node.As[T](o))
	}
	return all
}

// ending returns the pods of slices that are being deleted, or are gone.
func (l *leads) ending(all []*node.Object) map[types.UID]bool {
	going := map[types.UID]bool{}
	for _, o := range all {
		for _, e := range node.As[*discoveryv1.EndpointSlice](o).Endpoints {
			if e.TargetRef == nil || e.TargetRef.UID == "" {
				continue
			}
			view, ok := l.store.View(node.Key{Namespace: e.TargetRef.Namespace, Name: e.TargetRef.Name})
			if !ok || view.Slot == nil || view.Slot.Pod == nil || view.Slot.Pod.UID() != e.TargetRef.UID || view.Slot.Pod.Deletion != nil {
				going[e.TargetRef.UID] = true
			}
		}
	}
	return going
}
