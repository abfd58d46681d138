package server

import (
	"context"

	nodev1 "nodal/api/gen/node/v1"
)

// runtimeClassService serves RuntimeClasses.
type runtimeClassService struct {
	nodev1.UnimplementedRuntimeClassesServiceServer
	typed[nodev1.RuntimeClass]
}

var _ nodev1.RuntimeClassesServiceServer = (*runtimeClassService)(nil)

func (s *runtimeClassService) ListRuntimeClasses(
	ctx context.Context, _ *nodev1.ListRuntimeClassesRequest,
) (*nodev1.ListRuntimeClassesResponse, error) {
	all, revision, err := s.all(ctx, "")
	return &nodev1.ListRuntimeClassesResponse{RuntimeClasses: all, Revision: revision}, err
}

func (s *runtimeClassService) GetRuntimeClass(
	ctx context.Context, r *nodev1.GetRuntimeClassRequest,
) (*nodev1.GetRuntimeClassResponse, error) {
	found, err := s.one(ctx, "", r.GetName())
	return &nodev1.GetRuntimeClassResponse{RuntimeClass: found}, err
}

func (s *runtimeClassService) PutRuntimeClass(
	ctx context.Context, r *nodev1.PutRuntimeClassRequest,
) (*nodev1.PutRuntimeClassResponse, error) {
	outcome, taken, err := s.take(ctx, "", r.GetName(), r.GetManifest())
	return &nodev1.PutRuntimeClassResponse{Outcome: outcome, RuntimeClass: taken}, err
}

func (s *runtimeClassService) DeleteRuntimeClass(
	_ context.Context, r *nodev1.DeleteRuntimeClassRequest,
) (*nodev1.DeleteRuntimeClassResponse, error) {
	return &nodev1.DeleteRuntimeClassResponse{}, s.drop("", r.GetName())
}

func showRuntimeClass(o shown) (*nodev1.RuntimeClass, error) {
	object, err := asStruct(o)
	class := o.Class()
	return &nodev1.RuntimeClass{
		Name: class.Name, Uid: string(class.UID), Revision: o.Revision, Handler: class.Handler, Object: object,
	}, err
}
