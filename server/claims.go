package server

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/storage"
)

// claimService serves PersistentVolumeClaims.
type claimService struct {
	nodev1.UnimplementedPersistentVolumeClaimsServiceServer
	typed[nodev1.PersistentVolumeClaim]
}

var _ nodev1.PersistentVolumeClaimsServiceServer = (*claimService)(nil)

func (s *claimService) ListPersistentVolumeClaims(
	ctx context.Context, r *nodev1.ListPersistentVolumeClaimsRequest,
) (*nodev1.ListPersistentVolumeClaimsResponse, error) {
	all, revision, err := s.all(ctx, r.GetNamespace())
	return &nodev1.ListPersistentVolumeClaimsResponse{PersistentVolumeClaims: all, Revision: revision}, err
}

func (s *claimService) GetPersistentVolumeClaim(
	ctx context.Context, r *nodev1.GetPersistentVolumeClaimRequest,
) (*nodev1.GetPersistentVolumeClaimResponse, error) {
	found, err := s.one(ctx, r.GetNamespace(), r.GetName())
	return &nodev1.GetPersistentVolumeClaimResponse{PersistentVolumeClaim: found}, err
}

func (s *claimService) PutPersistentVolumeClaim(
	ctx context.Context, r *nodev1.PutPersistentVolumeClaimRequest,
) (*nodev1.PutPersistentVolumeClaimResponse, error) {
	outcome, taken, err := s.take(ctx, r.GetNamespace(), r.GetName(), r.GetManifest())
	return &nodev1.PutPersistentVolumeClaimResponse{Outcome: outcome, PersistentVolumeClaim: taken}, err
}

func (s *claimService) DeletePersistentVolumeClaim(
	_ context.Context, r *nodev1.DeletePersistentVolumeClaimRequest,
) (*nodev1.DeletePersistentVolumeClaimResponse, error) {
	return &nodev1.DeletePersistentVolumeClaimResponse{}, s.drop(r.GetNamespace(), r.GetName())
}

func (s objects) showClaim(o shown) (*nodev1.PersistentVolumeClaim, error) {
	object, err := asStruct(o)
	c := o.Claim()
	message := &nodev1.PersistentVolumeClaim{
		Namespace: c.Namespace, Name: c.Name, Uid: string(c.UID), Revision: o.Revision,
		Phase: string(c.Status.Phase), StorageClass: storage.Class(c), Message: s.pending(c),
		Deleting: c.DeletionTimestamp != nil, Object: object,
	}
	if c.Status.Phase == corev1.ClaimBound {
		message.Volume, message.Capacity = c.Spec.VolumeName, c.Status.Capacity.Storage().String()
	}
	return message, err
}

// pending returns why a claim has no volume yet.
func (s objects) pending(c *corev1.PersistentVolumeClaim) string {
	if c.Status.Phase == corev1.ClaimBound {
		return ""
	}
	found, _ := s.store.Objects(node.PersistentVolume)
	volumes := make([]*corev1.PersistentVolume, len(found))
	for i, o := range found {
		volumes[i] = o.Volume()
	}
	return s.intake.Storage.Pending(c, volumes)
}
