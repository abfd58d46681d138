package server

import (
	"context"

	"google.golang.org/grpc"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// typed serves the objects of one kind as messages of their own type. The services built on
// it are older than ObjectsService, and stay for their clients. A new kind needs no such
// service.
type typed[M any] struct {
	objects
	kind node.ObjectKind
	show func(shown) (*M, error)
}

func (s typed[M]) ref(namespace, name string) node.ObjectRef {
	return node.ObjectRef{Kind: s.kind, Namespace: namespace, Name: name}
}

// all returns the objects without the values of Secrets. An admin gets those by name.
func (s typed[M]) all(ctx context.Context, namespace string) ([]*M, int64, error) {
	found, revision := s.list(ctx, s.kind, namespace)
	messages := make([]*M, len(found))
	for i, o := range found {
		var err error
		if messages[i], err = s.show(asShown(o, false)); err != nil {
			return nil, 0, err
		}
	}
	return messages, revision, nil
}

func (s typed[M]) one(ctx context.Context, namespace, name string) (*M, error) {
	found, err := s.get(ctx, s.ref(namespace, name))
	if err != nil {
		return nil, err
	}
	return s.show(found)
}

func (s typed[M]) take(ctx context.Context, namespace, name, manifest string) (*nodev1.Outcome, *M, error) {
	outcome, taken, err := s.put(ctx, s.ref(namespace, name), manifest)
	if err != nil {
		return nil, nil, err
	}
	message, err := s.show(taken)
	return outcome, message, err
}

func (s typed[M]) drop(namespace, name string) error { return s.delete(s.ref(namespace, name)) }

// objectServices holds the services of all kinds that pods use.
type objectServices struct {
	any     *objectService
	configs *configMapService
	secrets *secretService
	volumes *volumeService
	claims  *claimService
	classes *runtimeClassService
	trust   *trustBundleService
}

func newObjectServices(o objects, stopped <-chan struct{}) objectServices {
	return objectServices{
		any:     &objectService{objects: o, stopped: stopped},
		configs: &configMapService{typed: typed[nodev1.ConfigMap]{o, node.ConfigMap, showConfigMap}},
		secrets: &secretService{typed: typed[nodev1.Secret]{o, node.Secret, showSecret}},
		volumes: &volumeService{typed: typed[nodev1.PersistentVolume]{o, node.PersistentVolume, showVolume}},
		claims:  &claimService{typed: typed[nodev1.PersistentVolumeClaim]{o, node.PersistentVolumeClaim, o.showClaim}},
		classes: &runtimeClassService{typed: typed[nodev1.RuntimeClass]{o, node.RuntimeClass, showRuntimeClass}},
		trust:   &trustBundleService{typed: typed[nodev1.ClusterTrustBundle]{o, node.ClusterTrustBundle, showTrustBundle}},
	}
}

func (s objectServices) register(r grpc.ServiceRegistrar) {
	nodev1.RegisterObjectsServiceServer(r, s.any)
	nodev1.RegisterConfigMapsServiceServer(r, s.configs)
	nodev1.RegisterSecretsServiceServer(r, s.secrets)
	nodev1.RegisterPersistentVolumesServiceServer(r, s.volumes)
	nodev1.RegisterPersistentVolumeClaimsServiceServer(r, s.claims)
	nodev1.RegisterRuntimeClassesServiceServer(r, s.classes)
	nodev1.RegisterClusterTrustBundlesServiceServer(r, s.trust)
}
