package member

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	nodeapiv1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// shelf is the part of the node that holds what pods use.
type shelf struct {
	node       nodev1.NodeServiceClient
	manifests  nodev1.ManifestsServiceClient
	configMaps nodev1.ConfigMapsServiceClient
	secrets    nodev1.SecretsServiceClient
	classes    nodev1.RuntimeClassesServiceClient
	trust      nodev1.ClusterTrustBundlesServiceClient
	claims     nodev1.PersistentVolumeClaimsServiceClient
	volumes    nodev1.PersistentVolumesServiceClient
}

func shelfOf(conn grpc.ClientConnInterface) *shelf {
	return &shelf{
		node: nodev1.NewNodeServiceClient(conn), manifests: nodev1.NewManifestsServiceClient(conn),
		configMaps: nodev1.NewConfigMapsServiceClient(conn), secrets: nodev1.NewSecretsServiceClient(conn),
		classes: nodev1.NewRuntimeClassesServiceClient(conn), trust: nodev1.NewClusterTrustBundlesServiceClient(conn),
		claims: nodev1.NewPersistentVolumeClaimsServiceClient(conn), volumes: nodev1.NewPersistentVolumesServiceClient(conn),
	}
}

// held lists the objects on the node that pods use, from any source. Volumes go with their
// claims.
func (s *shelf) held(ctx context.Context) (map[node.ObjectRef]*structpb.Struct, error) {
	maps, err := s.configMaps.ListConfigMaps(ctx, &nodev1.ListConfigMapsRequest{})
	if err != nil {
		return nil, fmt.Errorf("list the node's ConfigMaps: %w", err)
	}
	secrets, err := s.secrets.ListSecrets(ctx, &nodev1.ListSecretsRequest{})
	if err != nil {
		return nil, fmt.Errorf("list the node's Secrets: %w", err)
	}
	classes, err := s.classes.ListRuntimeClasses(ctx, &nodev1.ListRuntimeClassesRequest{})
	if err != nil {
		return nil, fmt.Errorf("list the node's RuntimeClasses: %w", err)
	}
	claims, err := s.claims.ListPersistentVolumeClaims(ctx, &nodev1.ListPersistentVolumeClaimsRequest{})
	if err != nil {
		return nil, fmt.Errorf("list the node's PersistentVolumeClaims: %w", err)
	}
	held, err := s.bundles(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range maps.GetConfigMaps() {
		held[node.ObjectRef{Kind: node.ConfigMap, Namespace: m.GetNamespace(), Name: m.GetName()}] = m.GetObject()
	}
	for _, m := range secrets.GetSecrets() {
		held[node.ObjectRef{Kind: node.Secret, Namespace: m.GetNamespace(), Name: m.GetName()}] = m.GetObject()
	}
	for _, m := range classes.GetRuntimeClasses() {
		held[node.ObjectRef{Kind: node.RuntimeClass, Name: m.GetName()}] = m.GetObject()
	}
	for _, m := range claims.GetPersistentVolumeClaims() {
		held[node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: m.GetNamespace(), Name: m.GetName()}] = m.GetObject()
	}
	return held, nil
}

// put posts objects of the cluster to the node, all of them or none. It never replaces an
// object that came there in another way, not even one that arrives meanwhile.
func (s *shelf) put(ctx context.Context, objects ...carried) error {
	since, err := s.now(ctx)
	if err != nil {
		return err
	}
	var refs []node.ObjectRef
	for i, object := range objects {
		objects[i] = copyOf(object)
		ref := node.ObjectRef{Kind: node.ObjectKind(objects[i].GetObjectKind().GroupVersionKind().Kind), Namespace: object.GetNamespace(), Name: object.GetName()}
		if _, err := s.brought(ctx, ref); err != nil {
			return err
		}
		refs = append(refs, ref)
	}
	text, err := listOf(objects)
	if err != nil {
		return err
	}
	if _, err := s.manifests.Apply(ctx, &nodev1.ApplyRequest{Manifest: text, UnchangedSince: &since}); err != nil {
		return fmt.Errorf("give %v to the node: %w", refs, err)
	}
	return nil
}

// drop takes from the node what the cluster has brought of an object, or of a family
// of them.
func (s *shelf) drop(ctx context.Context, ref node.ObjectRef) error {
	if ref.Kind == node.ClusterTrustBundle {
		return s.dropTrust(ctx, ref, nil)
	}
	since, err := s.now(ctx)
	if err != nil {
		return err
	}
	found, err := s.brought(ctx, ref)
	switch {
	case errors.Is(err, errForeign) || err == nil && found == nil:
		return nil
	case err != nil:
		return err
	case ref.Kind == node.PersistentVolumeClaim:
		return s.dropClaim(ctx, since, ref, found)
	}
	return s.remove(ctx, since, ref)
}

// now is the node's revision. What changes after it has changed since one looked.
func (s *shelf) now(ctx context.Context) (int64, error) {
	reply, err := s.node.GetNode(ctx, &nodev1.GetNodeRequest{})
	if err != nil {
		return 0, fmt.Errorf("ask the node for its revision: %w", err)
	}
	return reply.GetRevision(), nil
}

// remove deletes objects from the node if they are there and unchanged.
func (s *shelf) remove(ctx context.Context, since int64, refs ...node.ObjectRef) error {
	var named []metav1.PartialObjectMetadata
	for _, ref := range refs {
		named = append(named, metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{Kind: string(ref.Kind)}, ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name},
		})
	}
	text, err := listOf(named)
	if err != nil {
		return err
	}
	if _, err := s.manifests.Delete(ctx, &nodev1.DeleteRequest{Manifest: text, UnchangedSince: &since}); err != nil {
		return fmt.Errorf("take %v from the node: %w", refs, err)
	}
	return nil
}

func listOf[T any](objects []T) (string, error) {
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	return string(text), err
}

// errForeign means that the node has an object of that name from elsewhere.
var errForeign = errors.New("the node has one of that name already, which came in another way")

// brought returns the object that the cluster has put under a name, or nil if the node has
// none there.
func (s *shelf) brought(ctx context.Context, ref node.ObjectRef) (*structpb.Struct, error) {
	found, err := s.find(ctx, ref)
	switch {
	case grpcstatus.Code(err) == codes.NotFound:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s of the node: %w", ref, err)
	case !broughtHere(found):
		return nil, fmt.Errorf("%s: %w", ref, errForeign)
	}
	return found, nil
}

// find reads an object of the node, whoever brought it.
func (s *shelf) find(ctx context.Context, ref node.ObjectRef) (*structpb.Struct, error) {
	switch ref.Kind {
	case node.ConfigMap:
		reply, err := s.configMaps.GetConfigMap(ctx, &nodev1.GetConfigMapRequest{Namespace: ref.Namespace, Name: ref.Name})
		return reply.GetConfigMap().GetObject(), err
	case node.Secret:
		reply, err := s.secrets.GetSecret(ctx, &nodev1.GetSecretRequest{Namespace: ref.Namespace, Name: ref.Name})
		return reply.GetSecret().GetObject(), err
	case node.RuntimeClass:
		reply, err := s.classes.GetRuntimeClass(ctx, &nodev1.GetRuntimeClassRequest{Name: ref.Name})
		return reply.GetRuntimeClass().GetObject(), err
	case node.ClusterTrustBundle:
		reply, err := s.trust.GetClusterTrustBundle(ctx, &nodev1.GetClusterTrustBundleRequest{Name: ref.Name})
		return reply.GetClusterTrustBundle().GetObject(), err
	case node.PersistentVolume:
		reply, err := s.volumes.GetPersistentVolume(ctx, &nodev1.GetPersistentVolumeRequest{Name: ref.Name})
		return reply.GetPersistentVolume().GetObject(), err
	}
	reply, err := s.claims.GetPersistentVolumeClaim(ctx, &nodev1.GetPersistentVolumeClaimRequest{Namespace: ref.Namespace, Name: ref.Name})
	return reply.GetPersistentVolumeClaim().GetObject(), err
}

// broughtHere says whether what the node shows came from the cluster.
func broughtHere(object *structpb.Struct) bool {
	meta, _ := object.AsMap()["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	return notes[AnnotationFrom] == theCluster
}

// carried is an object on its way to the node.
type carried interface {
	runtime.Object
	metav1.Object
}

// copyOf is an object of the cluster as the node is to have it.
func copyOf(object carried) carried {
	meta := func(m *metav1.ObjectMeta) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, Annotations: map[string]string{AnnotationFrom: theCluster}}
	}
	switch o := object.(type) {
	case *corev1.Secret:
		return &corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta(&o.ObjectMeta),
			Type: cmp.Or(o.Type, corev1.SecretTypeOpaque), Data: o.Data, Immutable: o.Immutable,
		}
	case *corev1.ConfigMap:
		return &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta(&o.ObjectMeta),
			Data: o.Data, BinaryData: o.BinaryData, Immutable: o.Immutable,
		}
	case *nodeapiv1.RuntimeClass:
		return &nodeapiv1.RuntimeClass{
			TypeMeta: metav1.TypeMeta{APIVersion: nodeapiv1.SchemeGroupVersion.String(), Kind: "RuntimeClass"}, ObjectMeta: meta(&o.ObjectMeta),
			Handler: o.Handler, Overhead: o.Overhead, Scheduling: o.Scheduling,
		}
	case *certificatesv1.ClusterTrustBundle:
		bundle := &certificatesv1.ClusterTrustBundle{
			TypeMeta:   metav1.TypeMeta{APIVersion: certificatesv1.SchemeGroupVersion.String(), Kind: string(node.ClusterTrustBundle)},
			ObjectMeta: meta(&o.ObjectMeta), Spec: o.Spec,
		}
		bundle.Labels = o.Labels // by which sources select
		return bundle
	case *corev1.PersistentVolume:
		return volumeCopy(o, meta(&o.ObjectMeta))
	case *corev1.PersistentVolumeClaim:
		return claimCopy(o, meta(&o.ObjectMeta))
	}
	return object
}
