package server

import (
	"context"
	"fmt"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// trustBundleService shows and takes ClusterTrustBundles.
type trustBundleService struct {
	nodev1.UnimplementedClusterTrustBundlesServiceServer
	objects
}

var _ nodev1.ClusterTrustBundlesServiceServer = (*trustBundleService)(nil)

func (s *trustBundleService) ListClusterTrustBundles(context.Context, *nodev1.ListClusterTrustBundlesRequest) (*nodev1.ListClusterTrustBundlesResponse, error) {
	all, revision := s.list("")
	answer := &nodev1.ListClusterTrustBundlesResponse{Revision: revision}
	for _, o := range all {
		shown, err := showTrustBundle(o)
		if err != nil {
			return nil, err
		}
		answer.ClusterTrustBundles = append(answer.ClusterTrustBundles, shown)
	}
	return answer, nil
}

func (s *trustBundleService) GetClusterTrustBundle(_ context.Context, r *nodev1.GetClusterTrustBundleRequest) (*nodev1.GetClusterTrustBundleResponse, error) {
	shown, err := s.show(s.ref("", r.GetName()))
	return &nodev1.GetClusterTrustBundleResponse{ClusterTrustBundle: shown}, err
}

func (s *trustBundleService) PutClusterTrustBundle(_ context.Context, r *nodev1.PutClusterTrustBundleRequest) (*nodev1.PutClusterTrustBundleResponse, error) {
	ref := s.ref("", r.GetName())
	outcome, err := s.put(ref, r.GetManifest())
	if err != nil {
		return nil, err
	}
	shown, err := s.show(ref)
	return &nodev1.PutClusterTrustBundleResponse{Outcome: outcome, ClusterTrustBundle: shown}, err
}

func (s *trustBundleService) DeleteClusterTrustBundle(_ context.Context, r *nodev1.DeleteClusterTrustBundleRequest) (*nodev1.DeleteClusterTrustBundleResponse, error) {
	return &nodev1.DeleteClusterTrustBundleResponse{}, s.intake.DeleteObject(s.ref("", r.GetName()), s.now())
}

func (s *trustBundleService) show(ref node.ObjectRef) (*nodev1.ClusterTrustBundle, error) {
	object, err := s.get(ref)
	if err != nil {
		return nil, err
	}
	return showTrustBundle(object)
}

func showTrustBundle(o *node.Object) (*nodev1.ClusterTrustBundle, error) {
	object, err := asStruct(o.Trust())
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.Ref(), err)
	}
	return &nodev1.ClusterTrustBundle{
		Name: o.Trust().Name, Uid: string(o.Trust().UID), Revision: o.Revision, SignerName: o.Trust().Spec.SignerName, Object: object,
	}, nil
}
