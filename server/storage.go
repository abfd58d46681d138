package server

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/storage"
)

// volumeService shows and takes PersistentVolumes.
type volumeService struct {
	nodev1.UnimplementedPersistentVolumesServiceServer
	objects
}

var _ nodev1.PersistentVolumesServiceServer = (*volumeService)(nil)

func (s *volumeService) ListPersistentVolumes(context.Context, *nodev1.ListPersistentVolumesRequest) (*nodev1.ListPersistentVolumesResponse, error) {
	all, revision := s.list("")
	answer := &nodev1.ListPersistentVolumesResponse{Revision: revision}
	for _, o := range all {
		shown, err := showVolume(o)
		if err != nil {
			return nil, err
		}
		answer.PersistentVolumes = append(answer.PersistentVolumes, shown)
	}
	return answer, nil
}

func (s *volumeService) GetPersistentVolume(_ context.Context, r *nodev1.GetPersistentVolumeRequest) (*nodev1.GetPersistentVolumeResponse, error) {
	shown, err := s.show(s.ref("", r.GetName()))
	return &nodev1.GetPersistentVolumeResponse{PersistentVolume: shown}, err
}

func (s *volumeService) PutPersistentVolume(_ context.Context, r *nodev1.PutPersistentVolumeRequest) (*nodev1.PutPersistentVolumeResponse, error) {
	ref := s.ref("", r.GetName())
	outcome, err := s.put(ref, r.GetManifest())
	if err != nil {
		return nil, err
	}
	shown, err := s.show(ref)
	return &nodev1.PutPersistentVolumeResponse{Outcome: outcome, PersistentVolume: shown}, err
}

func (s *volumeService) DeletePersistentVolume(_ context.Context, r *nodev1.DeletePersistentVolumeRequest) (*nodev1.DeletePersistentVolumeResponse, error) {
	return &nodev1.DeletePersistentVolumeResponse{}, s.intake.DeleteObject(s.ref("", r.GetName()), s.now())
}

func (s *volumeService) show(ref node.ObjectRef) (*nodev1.PersistentVolume, error) {
	object, err := s.get(ref)
	if err != nil {
		return nil, err
	}
	return showVolume(object)
}

func showVolume(o *node.Object) (*nodev1.PersistentVolume, error) {
	object, err := asStruct(o.Volume())
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.Ref(), err)
	}
	v := o.Volume()
	shown := &nodev1.PersistentVolume{
		Name: v.Name, Uid: string(v.UID), Revision: o.Revision,
		Phase: string(v.Status.Phase), StorageClass: v.Spec.StorageClassName, Capacity: v.Spec.Capacity.Storage().String(),
		Deleting: v.DeletionTimestamp != nil, Object: object,
	}
	if ref := v.Spec.ClaimRef; ref != nil {
		shown.Claim = node.Key{Namespace: ref.Namespace, Name: ref.Name}.String()
	}
	return shown, nil
}

// claimService shows and takes PersistentVolumeClaims.
type claimService struct {
	nodev1.UnimplementedPersistentVolumeClaimsServiceServer
	objects
}

var _ nodev1.PersistentVolumeClaimsServiceServer = (*claimService)(nil)

func (s *claimService) ListPersistentVolumeClaims(_ context.Context, r *nodev1.ListPersistentVolumeClaimsRequest) (*nodev1.ListPersistentVolumeClaimsResponse, error) {
	all, revision := s.list(r.GetNamespace())
	answer := &nodev1.ListPersistentVolumeClaimsResponse{Revision: revision}
	volumes := s.volumes()
	for _, o := range all {
		shown, err := s.showClaim(o, volumes)
		if err != nil {
			return nil, err
		}
		answer.PersistentVolumeClaims = append(answer.PersistentVolumeClaims, shown)
	}
	return answer, nil
}

func (s *claimService) GetPersistentVolumeClaim(_ context.Context, r *nodev1.GetPersistentVolumeClaimRequest) (*nodev1.GetPersistentVolumeClaimResponse, error) {
	shown, err := s.show(s.ref(r.GetNamespace(), r.GetName()))
	return &nodev1.GetPersistentVolumeClaimResponse{PersistentVolumeClaim: shown}, err
}

func (s *claimService) PutPersistentVolumeClaim(_ context.Context, r *nodev1.PutPersistentVolumeClaimRequest) (*nodev1.PutPersistentVolumeClaimResponse, error) {
	ref := s.ref(r.GetNamespace(), r.GetName())
	outcome, err := s.put(ref, r.GetManifest())
	if err != nil {
		return nil, err
	}
	shown, err := s.show(ref)
	return &nodev1.PutPersistentVolumeClaimResponse{Outcome: outcome, PersistentVolumeClaim: shown}, err
}

func (s *claimService) DeletePersistentVolumeClaim(_ context.Context, r *nodev1.DeletePersistentVolumeClaimRequest) (*nodev1.DeletePersistentVolumeClaimResponse, error) {
	return &nodev1.DeletePersistentVolumeClaimResponse{}, s.intake.DeleteObject(s.ref(r.GetNamespace(), r.GetName()), s.now())
}

func (s *claimService) show(ref node.ObjectRef) (*nodev1.PersistentVolumeClaim, error) {
	object, err := s.get(ref)
	if err != nil {
		return nil, err
	}
	return s.showClaim(object, s.volumes())
}

func (s *claimService) volumes() []*corev1.PersistentVolume {
	objects, _ := s.store.Objects(node.PersistentVolume)
	volumes := make([]*corev1.PersistentVolume, len(objects))
	for i, o := range objects {
		volumes[i] = o.Volume()
	}
	return volumes
}

func (s *claimService) showClaim(o *node.Object, volumes []*corev1.PersistentVolume) (*nodev1.PersistentVolumeClaim, error) {
	object, err := asStruct(o.Claim())
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.Ref(), err)
	}
	c := o.Claim()
	shown := &nodev1.PersistentVolumeClaim{
		Namespace: c.Namespace, Name: c.Name, Uid: string(c.UID), Revision: o.Revision,
		Phase: string(c.Status.Phase), StorageClass: storage.Class(c), Message: s.intake.Storage.Pending(c, volumes),
		Deleting: c.DeletionTimestamp != nil, Object: object,
	}
	if c.Status.Phase == corev1.ClaimBound {
		shown.Volume, shown.Capacity = c.Spec.VolumeName, c.Status.Capacity.Storage().String()
	}
	return shown, nil
}
