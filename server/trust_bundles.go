package server

import (
	"context"

	nodev1 "nodal/api/gen/node/v1"
)

// trustBundleService serves ClusterTrustBundles.
type trustBundleService struct {
	nodev1.UnimplementedClusterTrustBundlesServiceServer
	typed[nodev1.ClusterTrustBundle]
}

var _ nodev1.ClusterTrustBundlesServiceServer = (*trustBundleService)(nil)

func (s *trustBundleService) ListClusterTrustBundles(
	ctx context.Context, _ *nodev1.ListClusterTrustBundlesRequest,
) (*nodev1.ListClusterTrustBundlesResponse, error) {
	all, revision, err := s.all(ctx, "")
	return &nodev1.ListClusterTrustBundlesResponse{ClusterTrustBundles: all, Revision: revision}, err
}

func (s *trustBundleService) GetClusterTrustBundle(
	ctx context.Context, r *nodev1.GetClusterTrustBundleRequest,
) (*nodev1.GetClusterTrustBundleResponse, error) {
	found, err := s.one(ctx, "", r.GetName())
	return &nodev1.GetClusterTrustBundleResponse{ClusterTrustBundle: found}, err
}

func (s *trustBundleService) PutClusterTrustBundle(
	ctx context.Context, r *nodev1.PutClusterTrustBundleRequest,
) (*nodev1.PutClusterTrustBundleResponse, error) {
	outcome, taken, err := s.take(ctx, "", r.GetName(), r.GetManifest())
	return &nodev1.PutClusterTrustBundleResponse{Outcome: outcome, ClusterTrustBundle: taken}, err
}

func (s *trustBundleService) DeleteClusterTrustBundle(
	_ context.Context, r *nodev1.DeleteClusterTrustBundleRequest,
) (*nodev1.DeleteClusterTrustBundleResponse, error) {
	return &nodev1.DeleteClusterTrustBundleResponse{}, s.drop("", r.GetName())
}

func showTrustBundle(o shown) (*nodev1.ClusterTrustBundle, error) {
	object, err := asStruct(o)
	t := o.Trust()
	return &nodev1.ClusterTrustBundle{
		Name: t.Name, Uid: string(t.UID), Revision: o.Revision, SignerName: t.Spec.SignerName, Object: object,
	}, err
}
