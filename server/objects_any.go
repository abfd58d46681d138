package server

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/intake"
	"nodal/node/store"
	"nodal/server/auth"
)

// objectService serves objects of any kind.
type objectService struct {
	nodev1.UnimplementedObjectsServiceServer
	objects
	stopped <-chan struct{}
}

var _ nodev1.ObjectsServiceServer = (*objectService)(nil)

// ListObjects returns the selected objects of a kind.
func (s *objectService) ListObjects(
	ctx context.Context, r *nodev1.ListObjectsRequest,
) (*nodev1.ListObjectsResponse, error) {
	kind, err := kindNamed(r.GetKind())
	if err != nil {
		return nil, err
	}
	if r.GetNamespace() != "" && !kind.Namespaced {
		return nil, fmt.Errorf("%s %q: the kind has no namespaces: %w", kind.Name, r.GetNamespace(), node.ErrInvalid)
	}
	chosen, err := newSelection(ctx, r.GetNamespace(), r.GetLabelSelector(), r.GetFieldSelector(), objectFields)
	if err != nil {
		return nil, err
	}
	if err := maySeeValues(ctx, r.GetValues()); err != nil {
		return nil, err
	}
	if !kind.Namespaced {
		if err := auth.RequireNode(ctx); err != nil {
			return nil, err
		}
	}
	all, revision := s.list(ctx, kind.Name, r.GetNamespace())
	answer := &nodev1.ListObjectsResponse{Revision: revision}
	for _, o := range all {
		if !chosen.matchesObject(o) {
			continue
		}
		message, err := s.message(asShown(o, r.GetValues()))
		if err != nil {
			return nil, err
		}
		answer.Objects = append(answer.Objects, message)
	}
	return answer, nil
}

// GetObject returns one object.
func (s *objectService) GetObject(ctx context.Context, r *nodev1.GetObjectRequest) (*nodev1.GetObjectResponse, error) {
	ref, err := refOf(r)
	if err != nil {
		return nil, err
	}
	found, err := s.get(ctx, ref)
	if err != nil {
		return nil, err
	}
	message, err := s.message(found)
	return &nodev1.GetObjectResponse{Object: message}, err
}

// PutObject applies the manifest of the one object that the path names.
func (s *objectService) PutObject(ctx context.Context, r *nodev1.PutObjectRequest) (*nodev1.PutObjectResponse, error) {
	ref, err := refOf(r)
	if err != nil {
		return nil, err
	}
	outcome, taken, err := s.put(ctx, ref, r.GetManifest())
	if err != nil {
		return nil, err
	}
	message, err := s.message(taken)
	return &nodev1.PutObjectResponse{Outcome: outcome, Object: message}, err
}

// DeleteObject deletes one object.
func (s *objectService) DeleteObject(
	_ context.Context, r *nodev1.DeleteObjectRequest,
) (*nodev1.DeleteObjectResponse, error) {
	ref, err := refOf(r)
	if err != nil {
		return nil, err
	}
	how := metav1.DeletionPropagation(r.GetPropagation())
	if !slices.Contains(propagations, how) {
		return nil, fmt.Errorf("propagation %q is none of %q: %w", how, propagations[1:], node.ErrInvalid)
	}
	return &nodev1.DeleteObjectResponse{}, s.intake.EndObject(intake.ObjectDeletion{
		Ref: ref, UID: types.UID(r.GetUid()), Since: r.UnchangedSince, Propagation: how,
	}, s.now())
}

var propagations = []metav1.DeletionPropagation{
	"", metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
}

// PutObjectStatus replaces the status of a workload.
func (s *objectService) PutObjectStatus(
	ctx context.Context, r *nodev1.PutObjectStatusRequest,
) (*nodev1.PutObjectStatusResponse, error) {
	ref, err := refOf(r)
	if err != nil {
		return nil, err
	}
	value, err := statusIn(ref.Kind, r.GetStatus())
	if err != nil {
		return nil, err
	}
	err = s.intake.SetStatus(intake.ObjectStatus{
		Ref: ref, UID: types.UID(r.GetUid()), Since: r.UnchangedSince, Value: value, Annotations: r.GetAnnotations(),
	})
	if err != nil {
		return nil, err
	}
	found, err := s.get(ctx, ref)
	if err != nil {
		return nil, err
	}
	message, err := s.message(found)
	return &nodev1.PutObjectStatusResponse{Object: message}, err
}

// statusIn returns an object of a kind that has this status and nothing else.
func statusIn(kind node.ObjectKind, status *structpb.Struct) (*node.Object, error) {
	row, _ := node.KindNamed(string(kind))
	value := row.New()
	fields := map[string]any{"status": status.AsMap()}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, value, true); err != nil {
		return nil, fmt.Errorf("the status of a %s: %w: %w", kind, err, node.ErrInvalid)
	}
	return node.NewObject(value), nil
}

// WatchObjects sends the selected objects, or what changed after a revision, then a
// marker, then every change.
func (s *objectService) WatchObjects(
	r *nodev1.WatchObjectsRequest, stream grpc.ServerStreamingServer[nodev1.WatchObjectsResponse],
) error {
	kinds, err := kindsNamed(r.GetKinds())
	if err != nil {
		return err
	}
	chosen, err := newSelection(stream.Context(), r.GetNamespace(), r.GetLabelSelector(), r.GetFieldSelector(), objectFields)
	if err != nil {
		return err
	}
	if err := maySeeValues(stream.Context(), r.GetValues()); err != nil {
		return err
	}
	return follow(stream.Context(), subject[*node.Object]{
		present: func() ([]item[*node.Object], int64) { return s.present(kinds) },
		since:   s.since,
		matches: func(o *node.Object) bool { return slices.Contains(kinds, o.Kind) && chosen.matchesObject(o) },
		mayHave: func(ref node.ObjectRef) bool { return slices.Contains(kinds, ref.Kind) && chosen.mayHaveMatched(ref) },
		changed: s.store.Changed,
		send: func(kind nodev1.WatchType, o **node.Object, revision int64) error {
			message := &nodev1.WatchObjectsResponse{Type: kind, Revision: revision}
			if o != nil {
				var err error
				if message.Object, err = s.message(asShown(*o, r.GetValues())); err != nil {
					return err
				}
			}
			return stream.Send(message)
		},
	}, r.GetSinceRevision(), s.stopped)
}

// present returns all objects of some kinds at one revision.
func (s *objectService) present(kinds []node.ObjectKind) ([]item[*node.Object], int64) {
	all, revision := s.store.ObjectsOf(kinds...)
	items := make([]item[*node.Object], len(all))
	for i, o := range all {
		items[i] = objectItem(store.ObjectChange{Object: o, Revision: o.Revision})
	}
	return items, revision
}

func (s *objectService) since(revision int64) ([]item[*node.Object], int64, error) {
	changes, now, err := s.store.ObjectsSince(revision)
	items := make([]item[*node.Object], len(changes))
	for i, c := range changes {
		items[i] = objectItem(c)
	}
	return items, now, err
}

func objectItem(c store.ObjectChange) item[*node.Object] {
	return item[*node.Object]{
		ref: c.Object.Ref(), uid: c.Object.Meta().UID, revision: c.Revision, gone: c.Gone, state: c.Object,
	}
}

// message returns an object as ObjectsService shows it.
func (s *objectService) message(o shown) (*nodev1.Object, error) {
	object, err := asStruct(o)
	if err != nil {
		return nil, err
	}
	message := &nodev1.Object{
		Kind: string(o.Kind), Namespace: o.Meta().Namespace, Name: o.Meta().Name, Uid: string(o.Meta().UID),
		Revision: o.Revision, Keys: o.keys, Object: object, Locked: o.why(), Origin: o.Origin,
	}
	if o.Locked == nil {
		message.Source = string(o.Owner())
	}
	if claim, ok := o.Value.(*corev1.PersistentVolumeClaim); ok {
		message.Message = s.pending(claim)
	}
	return message, nil
}

func maySeeValues(ctx context.Context, asked bool) error {
	if asked {
		return auth.Require(ctx, auth.Admin)
	}
	return nil
}

func kindNamed(name string) (node.Kind, error) {
	kind, ok := node.KindNamed(name)
	if !ok {
		var known []string
		for _, k := range node.Kinds() {
			known = append(known, k.Plural)
		}
		return kind, fmt.Errorf("kind %q is none of %v: %w", name, known, node.ErrInvalid)
	}
	return kind, nil
}

// kindsNamed returns the named kinds, or all if none is named.
func kindsNamed(names []string) ([]node.ObjectKind, error) {
	var kinds []node.ObjectKind
	for _, name := range names {
		kind, err := kindNamed(name)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, kind.Name)
	}
	if len(names) == 0 {
		for _, kind := range node.Kinds() {
			kinds = append(kinds, kind.Name)
		}
	}
	return kinds, nil
}

// refOf returns the object that a request names. Its namespace has to fit the kind.
func refOf(r interface {
	GetKind() string
	GetNamespace() string
	GetName() string
}) (node.ObjectRef, error) {
	kind, err := kindNamed(r.GetKind())
	if err != nil {
		return node.ObjectRef{}, err
	}
	ref := node.ObjectRef{Kind: kind.Name, Namespace: r.GetNamespace(), Name: r.GetName()}
	switch {
	case kind.Namespaced && ref.Namespace == "":
		return ref, fmt.Errorf("%s: the kind has namespaces; name one, as in /v1/namespaces/default/objects/%s/%s: %w",
			ref, kind.Plural, ref.Name, node.ErrInvalid)
	case !kind.Namespaced && ref.Namespace != "":
		return ref, fmt.Errorf("%s: the kind has no namespaces; leave it out, as in /v1/objects/%s/%s: %w",
			ref, kind.Plural, ref.Name, node.ErrInvalid)
	}
	return ref, nil
}
