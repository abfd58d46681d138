package member

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"
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
	manifests  nodev1.ManifestsServiceClient
	configMaps nodev1.ConfigMapsServiceClient
	secrets    nodev1.SecretsServiceClient
	classes    nodev1.RuntimeClassesServiceClient
	trust      nodev1.ClusterTrustBundlesServiceClient
	claims     nodev1.PersistentVolumeClaimsServiceClient
}

func shelfOf(conn grpc.ClientConnInterface) *shelf {
	return &shelf{
		manifests:  nodev1.NewManifestsServiceClient(conn),
		configMaps: nodev1.NewConfigMapsServiceClient(conn), secrets: nodev1.NewSecretsServiceClient(conn),
		classes: nodev1.NewRuntimeClassesServiceClient(conn), trust: nodev1.NewClusterTrustBundlesServiceClient(conn),
		claims: nodev1.NewPersistentVolumeClaimsServiceClient(conn),
	}
}

// held is what the node has of what pods use, whoever brought it. Volumes go with
// their claims.
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

func (s *shelf) put(ctx context.Context, ref node.ObjectRef, object runtime.Object) error {
	text, err := json.Marshal(copyOf(object))
	if err != nil {
		return err
	}
	if _, err := s.manifests.Apply(ctx, &nodev1.ApplyRequest{Manifest: string(text)}); err != nil {
		return fmt.Errorf("give %s to the node: %w", ref, err)
	}
	return nil
}

// drop takes an object, or a family of them, from the node.
func (s *shelf) drop(ctx context.Context, ref node.ObjectRef) error {
	switch ref.Kind {
	case node.PersistentVolumeClaim:
		return s.dropClaim(ctx, ref)
	case node.ClusterTrustBundle:
		return s.dropTrust(ctx, ref, nil)
	}
	return s.remove(ctx, ref)
}

// remove takes one object from the node, if it is there.
func (s *shelf) remove(ctx context.Context, ref node.ObjectRef) error {
	text, err := json.Marshal(metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{Kind: string(ref.Kind)}, ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name},
	})
	if err != nil {
		return err
	}
	if _, err := s.manifests.Delete(ctx, &nodev1.DeleteRequest{Manifest: string(text)}); err != nil {
		return fmt.Errorf("take %s from the node: %w", ref, err)
	}
	return nil
}

// broughtHere says whether what the node shows came from the cluster.
func broughtHere(object *structpb.Struct) bool {
	meta, _ := object.AsMap()["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	return notes[AnnotationFrom] == theCluster
}

// copyOf is an object of the cluster as the node is to have it.
func copyOf(object runtime.Object) any {
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
