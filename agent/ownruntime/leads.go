package ownruntime

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/agent/config"
	"nodal/host/podnet"
	"nodal/host/podnet/service"
	"nodal/node"
	"nodal/node/store"
)

// leads reads from the store where services lead. It is asked after each change of the node, so it remembers its last answer.
type leads struct {
	store   *store.Store
	objects []*node.Object
	ended   map[types.UID]bool
	ports   []service.Port
}

var _ podnet.Leads = (*leads)(nil)

// leadsOf tells where services lead; nil on a node that serves none.
func leadsOf(settings config.Runtime, s *store.Store) podnet.Leads {
	if settings.NoServices {
		return nil
	}
	return &leads{store: s}
}

// Ports returns the ports of the services, and whether there is a service.
func (l *leads) Ports() ([]service.Port, bool) {
	all, _ := l.store.ObjectsOf(node.Service, node.EndpointSlice)
	of := map[node.ObjectKind][]*node.Object{}
	for _, o := range all {
		of[o.Kind] = append(of[o.Kind], o)
	}
	if len(of[node.Service]) == 0 {
		*l = leads{store: l.store}
		return nil, false
	}
	ending := l.ending(of[node.EndpointSlice])
	if !slices.Equal(all, l.objects) || !maps.Equal(ending, l.ended) {
		l.objects, l.ended = all, ending
		l.ports = service.Compile(service.Objects{
			Services: valuesOf[*corev1.Service](of[node.Service]), Slices: valuesOf[*discoveryv1.EndpointSlice](of[node.EndpointSlice]),
			Going: func(uid types.UID) (going, away bool) {
				away, going = ending[uid]
				return going, away
			},
		})
	}
	return l.ports, true
}

func valuesOf[T node.Value](objects []*node.Object) (all []T) {
	for _, o := range objects {
		all = append(all, node.As[T](o))
	}
	return all
}

// ending returns the pods of slices that are being deleted, or are gone. The value says that nothing answers there.
func (l *leads) ending(all []*node.Object) (going map[types.UID]bool) {
	going = map[types.UID]bool{}
	for _, o := range all {
		for _, e := range node.As[*discoveryv1.EndpointSlice](o).Endpoints {
			if e.TargetRef == nil || e.TargetRef.UID == "" {
				continue
			}
			view, ok := l.store.View(node.Key{Namespace: e.TargetRef.Namespace, Name: e.TargetRef.Name})
			switch {
			case !ok || view.Slot == nil || view.Slot.Pod == nil || view.Slot.Pod.UID() != e.TargetRef.UID:
				going[e.TargetRef.UID] = false
			case stopped(view.Got):
				going[e.TargetRef.UID] = true
			case view.Slot.Pod.Deletion != nil:
				going[e.TargetRef.UID] = false
			}
		}
	}
	return going
}

// stopped reports a pod of which no sandbox runs any more, as after a boot of the machine.
func stopped(got *node.Observed) bool {
	return got != nil && len(got.Sandboxes) > 0 &&
		!slices.ContainsFunc(got.Sandboxes, func(s node.Sandbox) bool { return s.State == node.SandboxReady })
}
