package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// shelf keeps objects on the node, over the node's API.
type shelf struct {
	node      nodev1.NodeServiceClient
	manifests nodev1.ManifestsServiceClient
	objects   nodev1.ObjectsServiceClient
}

// shelfOf returns the shelf of the node at the other end of a connection.
func shelfOf(conn grpc.ClientConnInterface) *shelf {
	return &shelf{
		node: nodev1.NewNodeServiceClient(conn), manifests: nodev1.NewManifestsServiceClient(conn),
		objects: nodev1.NewObjectsServiceClient(conn),
	}
}

// held returns all objects that the node has, except for volumes: they go with their claims.
func (s *shelf) held(ctx context.Context) (map[node.ObjectRef]*structpb.Struct, error) {
	held := map[node.ObjectRef]*structpb.Struct{}
	for _, kind := range node.Kinds() {
		if kind.Name == node.PersistentVolume {
			continue
		}
		found, err := s.heldOf(ctx, kind.Name)
		if err != nil {
			return nil, err
		}
		maps.Copy(held, found)
	}
	return held, nil
}

// heldOf returns the objects of one kind that the node has.
func (s *shelf) heldOf(ctx context.Context, kind node.ObjectKind) (map[node.ObjectRef]*structpb.Struct, error) {
	reply, err := s.objects.ListObjects(ctx, &nodev1.ListObjectsRequest{Kind: string(kind)})
	if err != nil {
		return nil, fmt.Errorf("list the node's objects of kind %s: %w", kind, err)
	}
	held := map[node.ObjectRef]*structpb.Struct{}
	for _, o := range reply.GetObjects() {
		held[node.ObjectRef{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}] = o.GetObject()
	}
	return held, nil
}

// put posts objects of the cluster to the node, all of them or none. It never replaces an object that came to the
// node in another way, not even one that arrives meanwhile.
func (s *shelf) put(ctx context.Context, objects ...node.Value) error {
	since, err := s.now(ctx)
	if err != nil {
		return err
	}
	var refs []node.ObjectRef
	for i, object := range objects {
		objects[i] = copyOf(object)
		kind := node.ObjectKind(objects[i].GetObjectKind().GroupVersionKind().Kind)
		ref := node.ObjectRef{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
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
		return fmt.Errorf("post %v to the node: %w", refs, err)
	}
	return nil
}

// drop removes an object, or a family of objects, from the node if it came from the cluster.
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

// now returns the node's present revision. A later change has a greater one.
func (s *shelf) now(ctx context.Context) (int64, error) {
	reply, err := s.node.GetNode(ctx, &nodev1.GetNodeRequest{})
	if err != nil {
		return 0, fmt.Errorf("ask the node for its revision: %w", err)
	}
	return reply.GetRevision(), nil
}

// remove deletes objects from the node that have not changed after a revision.
func (s *shelf) remove(ctx context.Context, since int64, refs ...node.ObjectRef) error {
	var named []metav1.PartialObjectMetadata
	for _, ref := range refs {
		named = append(named, metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{Kind: string(ref.Kind)},
			ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name},
		})
	}
	text, err := listOf(named)
	if err != nil {
		return err
	}
	if _, err := s.manifests.Delete(ctx, &nodev1.DeleteRequest{Manifest: text, UnchangedSince: &since}); err != nil {
		return fmt.Errorf("delete %v from the node: %w", refs, err)
	}
	return nil
}

// listOf returns a manifest of objects.
func listOf[T any](objects []T) (string, error) {
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	return string(text), err
}

// errForeign means that the node has an object of that name which did not come from the cluster.
var errForeign = errors.New("the node has an object of that name already, which did not come from the cluster")

// brought returns the node's object of a name, or nil if it has none. It fails if the object did not come from the
// cluster.
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

// find reads an object of the node, wherever it came from.
func (s *shelf) find(ctx context.Context, ref node.ObjectRef) (*structpb.Struct, error) {
	request := &nodev1.GetObjectRequest{Kind: string(ref.Kind), Namespace: ref.Namespace, Name: ref.Name}
	reply, err := s.objects.GetObject(ctx, request)
	return reply.GetObject().GetObject(), err
}

// broughtHere reports whether an object of the node came from the cluster.
func broughtHere(object *structpb.Struct) bool {
	meta, _ := object.AsMap()["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	return notes[node.AnnotationFrom] == node.Cluster
}

// copyOf returns the object that the node keeps for one of the cluster.
func copyOf(object node.Value) node.Value {
	made := node.NewObject(object).Clone()
	*made.Meta() = metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), Annotations: map[string]string{node.AnnotationFrom: node.Cluster},
	}
	kind, _ := node.KindNamed(string(made.Kind))
	made.Value.GetObjectKind().SetGroupVersionKind(kind.GroupVersionKind())
	switch value := made.Value.(type) {
	case *certificatesv1.ClusterTrustBundle:
		value.Labels = object.GetLabels() // projected volumes select by them
	case *corev1.PersistentVolume:
		fitVolume(value, object)
	case *corev1.PersistentVolumeClaim:
		fitClaim(value)
	}
	return made.Value
}
