package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/intake"
	"nodal/node/manifest"
	"nodal/node/store"
	"nodal/server/auth"
)

// objects is what the services of objects that pods use have in common.
type objects struct {
	kind   node.ObjectKind
	store  *store.Store
	intake intake.Intake
	now    func() time.Time
	limit  int // bytes of a manifest
}

func (s objects) ref(namespace, name string) node.ObjectRef {
	return node.ObjectRef{Kind: s.kind, Namespace: namespace, Name: name}
}

func (s objects) get(ref node.ObjectRef) (*node.Object, error) {
	object, ok := s.store.Object(ref)
	if !ok {
		return nil, fmt.Errorf("%s: %w", ref, node.ErrNotFound)
	}
	return object, nil
}

func (s objects) list(namespace string) ([]*node.Object, int64) {
	all, revision := s.store.Objects(s.kind)
	if namespace != "" {
		all = slices.DeleteFunc(all, func(o *node.Object) bool { return o.Meta().Namespace != namespace })
	}
	return all, revision
}

// put takes the manifest of one object, the one that the path names.
func (s objects) put(ref node.ObjectRef, text string) (*nodev1.Outcome, error) {
	deliveries, err := deliver(text, s.limit, manifest.Options{Namespace: ref.Namespace})
	if err != nil {
		return nil, err
	}
	if len(deliveries) != 1 || deliveries[0].Object == nil {
		return nil, fmt.Errorf("the manifest of %s does not hold one %s and nothing else: %w", ref, ref.Kind, node.ErrInvalid)
	}
	if got := deliveries[0].Object.Ref(); got != ref {
		return nil, fmt.Errorf("the manifest is of %s, but the path names %s: %w", got, ref, node.ErrInvalid)
	}
	outcomes, _, err := s.intake.Apply(deliveries, s.now())
	if err != nil {
		return nil, err
	}
	return outcomeOf(outcomes[0]), nil
}

func keysOf(o *node.Object) []string { return slices.Sorted(maps.Keys(o.Data())) }

// asStruct is an object as Kubernetes shows it.
func asStruct(object runtime.Object) (*structpb.Struct, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	return structpb.NewStruct(fields)
}

// configMapService shows and takes ConfigMaps.
type configMapService struct {
	nodev1.UnimplementedConfigMapsServiceServer
	objects
}

var _ nodev1.ConfigMapsServiceServer = (*configMapService)(nil)

func (s *configMapService) ListConfigMaps(_ context.Context, r *nodev1.ListConfigMapsRequest) (*nodev1.ListConfigMapsResponse, error) {
	all, revision := s.list(r.GetNamespace())
	answer := &nodev1.ListConfigMapsResponse{Revision: revision}
	for _, o := range all {
		shown, err := showConfigMap(o)
		if err != nil {
			return nil, err
		}
		answer.ConfigMaps = append(answer.ConfigMaps, shown)
	}
	return answer, nil
}

func (s *configMapService) GetConfigMap(_ context.Context, r *nodev1.GetConfigMapRequest) (*nodev1.GetConfigMapResponse, error) {
	shown, err := s.show(s.ref(r.GetNamespace(), r.GetName()))
	return &nodev1.GetConfigMapResponse{ConfigMap: shown}, err
}

func (s *configMapService) PutConfigMap(_ context.Context, r *nodev1.PutConfigMapRequest) (*nodev1.PutConfigMapResponse, error) {
	ref := s.ref(r.GetNamespace(), r.GetName())
	outcome, err := s.put(ref, r.GetManifest())
	if err != nil {
		return nil, err
	}
	shown, err := s.show(ref)
	return &nodev1.PutConfigMapResponse{Outcome: outcome, ConfigMap: shown}, err
}

func (s *configMapService) DeleteConfigMap(_ context.Context, r *nodev1.DeleteConfigMapRequest) (*nodev1.DeleteConfigMapResponse, error) {
	return &nodev1.DeleteConfigMapResponse{}, s.intake.DeleteObject(s.ref(r.GetNamespace(), r.GetName()), s.now())
}

func (s *configMapService) show(ref node.ObjectRef) (*nodev1.ConfigMap, error) {
	object, err := s.get(ref)
	if err != nil {
		return nil, err
	}
	return showConfigMap(object)
}

func showConfigMap(o *node.Object) (*nodev1.ConfigMap, error) {
	object, err := asStruct(o.ConfigMap())
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.Ref(), err)
	}
	return &nodev1.ConfigMap{
		Namespace: o.Meta().Namespace, Name: o.Meta().Name, Uid: string(o.Meta().UID), Revision: o.Revision,
		Immutable: o.Immutable(), Keys: keysOf(o), Object: object,
	}, nil
}

// secretService shows and takes Secrets.
type secretService struct {
	nodev1.UnimplementedSecretsServiceServer
	objects
}

var _ nodev1.SecretsServiceServer = (*secretService)(nil)

// ListSecrets shows no values to anybody: who wants one asks for it by its name.
func (s *secretService) ListSecrets(_ context.Context, r *nodev1.ListSecretsRequest) (*nodev1.ListSecretsResponse, error) {
	all, revision := s.list(r.GetNamespace())
	answer := &nodev1.ListSecretsResponse{Revision: revision}
	for _, o := range all {
		shown, err := showSecret(o, false)
		if err != nil {
			return nil, err
		}
		answer.Secrets = append(answer.Secrets, shown)
	}
	return answer, nil
}

func (s *secretService) GetSecret(ctx context.Context, r *nodev1.GetSecretRequest) (*nodev1.GetSecretResponse, error) {
	shown, err := s.show(s.ref(r.GetNamespace(), r.GetName()), auth.Require(ctx, auth.Admin) == nil)
	return &nodev1.GetSecretResponse{Secret: shown}, err
}

func (s *secretService) PutSecret(_ context.Context, r *nodev1.PutSecretRequest) (*nodev1.PutSecretResponse, error) {
	ref := s.ref(r.GetNamespace(), r.GetName())
	outcome, err := s.put(ref, r.GetManifest())
	if err != nil {
		return nil, err
	}
	shown, err := s.show(ref, false)
	return &nodev1.PutSecretResponse{Outcome: outcome, Secret: shown}, err
}

func (s *secretService) DeleteSecret(_ context.Context, r *nodev1.DeleteSecretRequest) (*nodev1.DeleteSecretResponse, error) {
	return &nodev1.DeleteSecretResponse{}, s.intake.DeleteObject(s.ref(r.GetNamespace(), r.GetName()), s.now())
}

func (s *secretService) show(ref node.ObjectRef, values bool) (*nodev1.Secret, error) {
	object, err := s.get(ref)
	if err != nil {
		return nil, err
	}
	return showSecret(object, values)
}

func showSecret(o *node.Object, values bool) (*nodev1.Secret, error) {
	shown := o.Secret().DeepCopy()
	if !values {
		shown.Data = nil
		// kubectl keeps what it applied, values and all.
		delete(shown.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	}
	object, err := asStruct(shown)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.Ref(), err)
	}
	return &nodev1.Secret{
		Namespace: o.Meta().Namespace, Name: o.Meta().Name, Uid: string(o.Meta().UID), Revision: o.Revision,
		Immutable: o.Immutable(), Type: string(o.Secret().Type), Keys: keysOf(o), Object: object,
	}, nil
}
