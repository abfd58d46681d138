package member

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	nodeapiv1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// shelf is the part of the node that holds what pods use.
type shelf struct {
	configMaps nodev1.ConfigMapsServiceClient
	secrets    nodev1.SecretsServiceClient
	classes    nodev1.RuntimeClassesServiceClient
	volumes    nodev1.PersistentVolumesServiceClient
	claims     nodev1.PersistentVolumeClaimsServiceClient
}

func shelfOf(conn grpc.ClientConnInterface) *shelf {
	return &shelf{
		configMaps: nodev1.NewConfigMapsServiceClient(conn), secrets: nodev1.NewSecretsServiceClient(conn),
		classes: nodev1.NewRuntimeClassesServiceClient(conn),
		volumes: nodev1.NewPersistentVolumesServiceClient(conn), claims: nodev1.NewPersistentVolumeClaimsServiceClient(conn),
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
	held := map[node.ObjectRef]*structpb.Struct{}
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
	switch manifest := string(text); ref.Kind {
	case node.ConfigMap:
		_, err = s.configMaps.PutConfigMap(ctx, &nodev1.PutConfigMapRequest{Namespace: ref.Namespace, Name: ref.Name, Manifest: manifest})
	case node.Secret:
		_, err = s.secrets.PutSecret(ctx, &nodev1.PutSecretRequest{Namespace: ref.Namespace, Name: ref.Name, Manifest: manifest})
	case node.RuntimeClass:
		_, err = s.classes.PutRuntimeClass(ctx, &nodev1.PutRuntimeClassRequest{Name: ref.Name, Manifest: manifest})
	case node.PersistentVolume:
		_, err = s.volumes.PutPersistentVolume(ctx, &nodev1.PutPersistentVolumeRequest{Name: ref.Name, Manifest: manifest})
	case node.PersistentVolumeClaim:
		_, err = s.claims.PutPersistentVolumeClaim(ctx, &nodev1.PutPersistentVolumeClaimRequest{Namespace: ref.Namespace, Name: ref.Name, Manifest: manifest})
	}
	if err != nil {
		return fmt.Errorf("give %s to the node: %w", ref, err)
	}
	return nil
}

func (s *shelf) drop(ctx context.Context, ref node.ObjectRef) (err error) {
	switch ref.Kind {
	case node.ConfigMap:
		_, err = s.configMaps.DeleteConfigMap(ctx, &nodev1.DeleteConfigMapRequest{Namespace: ref.Namespace, Name: ref.Name})
	case node.Secret:
		_, err = s.secrets.DeleteSecret(ctx, &nodev1.DeleteSecretRequest{Namespace: ref.Namespace, Name: ref.Name})
	case node.RuntimeClass:
		_, err = s.classes.DeleteRuntimeClass(ctx, &nodev1.DeleteRuntimeClassRequest{Name: ref.Name})
	case node.PersistentVolume:
		_, err = s.volumes.DeletePersistentVolume(ctx, &nodev1.DeletePersistentVolumeRequest{Name: ref.Name})
	case node.PersistentVolumeClaim:
		return s.dropClaim(ctx, ref)
	}
	return unlessGone(ref, err)
}

func unlessGone(ref node.ObjectRef, err error) error {
	if err != nil && grpcstatus.Code(err) != codes.NotFound {
		return fmt.Errorf("take %s from the node: %w", ref, err)
	}
	return nil
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
	case *corev1.PersistentVolume:
		return volumeCopy(o, meta(&o.ObjectMeta))
	case *corev1.PersistentVolumeClaim:
		return claimCopy(o, meta(&o.ObjectMeta))
	}
	return object
}
