package server

import (
	"context"

	nodev1 "nodal/api/gen/node/v1"
)

// configMapService serves ConfigMaps.
type configMapService struct {
	nodev1.UnimplementedConfigMapsServiceServer
	typed[nodev1.ConfigMap]
}

var _ nodev1.ConfigMapsServiceServer = (*configMapService)(nil)

func (s *configMapService) ListConfigMaps(
	ctx context.Context, r *nodev1.ListConfigMapsRequest,
) (*nodev1.ListConfigMapsResponse, error) {
	all, revision, err := s.all(ctx, r.GetNamespace())
	return &nodev1.ListConfigMapsResponse{ConfigMaps: all, Revision: revision}, err
}

func (s *configMapService) GetConfigMap(
	ctx context.Context, r *nodev1.GetConfigMapRequest,
) (*nodev1.GetConfigMapResponse, error) {
	found, err := s.one(ctx, r.GetNamespace(), r.GetName())
	return &nodev1.GetConfigMapResponse{ConfigMap: found}, err
}

func (s *configMapService) PutConfigMap(
	ctx context.Context, r *nodev1.PutConfigMapRequest,
) (*nodev1.PutConfigMapResponse, error) {
	outcome, taken, err := s.take(ctx, r.GetNamespace(), r.GetName(), r.GetManifest())
	return &nodev1.PutConfigMapResponse{Outcome: outcome, ConfigMap: taken}, err
}

func (s *configMapService) DeleteConfigMap(
	_ context.Context, r *nodev1.DeleteConfigMapRequest,
) (*nodev1.DeleteConfigMapResponse, error) {
	return &nodev1.DeleteConfigMapResponse{}, s.drop(r.GetNamespace(), r.GetName())
}

func showConfigMap(o shown) (*nodev1.ConfigMap, error) {
	object, err := asStruct(o)
	return &nodev1.ConfigMap{
		Namespace: o.Meta().Namespace, Name: o.Meta().Name, Uid: string(o.Meta().UID), Revision: o.Revision,
		Immutable: o.Immutable(), Keys: o.keys, Object: object,
	}, err
}
