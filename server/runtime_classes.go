package server

import (
	"context"
	"fmt"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// runtimeClassService shows and takes RuntimeClasses.
type runtimeClassService struct {
	nodev1.UnimplementedRuntimeClassesServiceServer
	objects
}

var _ nodev1.RuntimeClassesServiceServer = (*runtimeClassService)(nil)

func (s *runtimeClassService) ListRuntimeClasses(context.Context, *nodev1.ListRuntimeClassesRequest) (*nodev1.ListRuntimeClassesResponse, error) {
	all, revision := s.list("")
	answer := &nodev1.ListRuntimeClassesResponse{Revision: revision}
	for _, o := range all {
		shown, err := showRuntimeClass(o)
		if err != nil {
			return nil, err
		}
		answer.RuntimeClasses = append(answer.RuntimeClasses, shown)
	}
	return answer, nil
}

func (s *runtimeClassService) GetRuntimeClass(_ context.Context, r *nodev1.GetRuntimeClassRequest) (*nodev1.GetRuntimeClassResponse, error) {
	shown, err := s.show(s.ref("", r.GetName()))
	return &nodev1.GetRuntimeClassResponse{RuntimeClass: shown}, err
}

func (s *runtimeClassService) PutRuntimeClass(_ context.Context, r *nodev1.PutRuntimeClassRequest) (*nodev1.PutRuntimeClassResponse, error) {
	ref := s.ref("", r.GetName())
	outcome, err := s.put(ref, r.GetManifest())
	if err != nil {
		return nil, err
	}
	shown, err := s.show(ref)
	return &nodev1.PutRuntimeClassResponse{Outcome: outcome, RuntimeClass: shown}, err
}

func (s *runtimeClassService) DeleteRuntimeClass(_ context.Context, r *nodev1.DeleteRuntimeClassRequest) (*nodev1.DeleteRuntimeClassResponse, error) {
	return &nodev1.DeleteRuntimeClassResponse{}, s.intake.DeleteObject(s.ref("", r.GetName()), s.now())
}

func (s *runtimeClassService) show(ref node.ObjectRef) (*nodev1.RuntimeClass, error) {
	object, err := s.get(ref)
	if err != nil {
		return nil, err
	}
	return showRuntimeClass(object)
}

func showRuntimeClass(o *node.Object) (*nodev1.RuntimeClass, error) {
	object, err := asStruct(o.Class())
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.Ref(), err)
	}
	return &nodev1.RuntimeClass{
		Name: o.Class().Name, Uid: string(o.Class().UID), Revision: o.Revision, Handler: o.Class().Handler, Object: object,
	}, nil
}
