package server

import (
	"context"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// volumeService serves PersistentVolumes.
type volumeService struct {
	nodev1.UnimplementedPersistentVolumesServiceServer
	typed[nodev1.PersistentVolume]
}

var _ nodev1.PersistentVolumesServiceServer = (*volumeService)(nil)

func (s *volumeService) ListPersistentVolumes(
	ctx context.Context, _ *nodev1.ListPersistentVolumesRequest,
) (*nodev1.ListPersistentVolumesResponse, error) {
	all, revision, err := s.all(ctx, "")
	return &nodev1.ListPersistentVolumesResponse{PersistentVolumes: all, Revision: revision}, err
}

func (s *volumeService) GetPersistentVolume(
	ctx context.Context, r *nodev1.GetPersistentVolumeRequest,
) (*nodev1.GetPersistentVolumeResponse, error) {
	found, err := s.one(ctx, "", r.GetName())
	return &nodev1.GetPersistentVolumeResponse{PersistentVolume: found}, err
}

func (s *volumeService) PutPersistentVolume(
	ctx context.Context, r *nodev1.PutPersistentVolumeRequest,
) (*nodev1.PutPersistentVolumeResponse, error) {
	outcome, taken, err := s.take(ctx, "", r.GetName(), r.GetManifest())
	return &nodev1.PutPersistentVolumeResponse{Outcome: outcome, PersistentVolume: taken}, err
}

func (s *volumeService) DeletePersistentVolume(
	_ context.Context, r *nodev1.DeletePersistentVolumeRequest,
) (*nodev1.DeletePersistentVolumeResponse, error) {
	return &nodev1.DeletePersistentVolumeResponse{}, s.drop("", r.GetName())
}

func showVolume(o shown) (*nodev1.PersistentVolume, error) {
	object, err := asStruct(o)
	v := o.Volume()
	message := &nodev1.PersistentVolume{
		Name: v.Name, Uid: string(v.UID), Revision: o.Revision,
		Phase: string(v.Status.Phase), StorageClass: v.Spec.StorageClassName, Capacity: v.Spec.Capacity.Storage().String(),
		Deleting: v.DeletionTimestamp != nil, Object: object,
	}
	if ref := v.Spec.ClaimRef; ref != nil {
		message.Claim = node.Key{Namespace: ref.Namespace, Name: ref.Name}.String()
	}
	return message, err
}
