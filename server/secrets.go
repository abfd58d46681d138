package server

import (
	"context"

	nodev1 "nodal/api/gen/node/v1"
)

// secretService serves Secrets.
type secretService struct {
	nodev1.UnimplementedSecretsServiceServer
	typed[nodev1.Secret]
}

var _ nodev1.SecretsServiceServer = (*secretService)(nil)

func (s *secretService) ListSecrets(
	ctx context.Context, r *nodev1.ListSecretsRequest,
) (*nodev1.ListSecretsResponse, error) {
	all, revision, err := s.all(ctx, r.GetNamespace())
	return &nodev1.ListSecretsResponse{Secrets: all, Revision: revision}, err
}

func (s *secretService) GetSecret(
	ctx context.Context, r *nodev1.GetSecretRequest,
) (*nodev1.GetSecretResponse, error) {
	found, err := s.one(ctx, r.GetNamespace(), r.GetName())
	return &nodev1.GetSecretResponse{Secret: found}, err
}

func (s *secretService) PutSecret(
	ctx context.Context, r *nodev1.PutSecretRequest,
) (*nodev1.PutSecretResponse, error) {
	outcome, taken, err := s.take(ctx, r.GetNamespace(), r.GetName(), r.GetManifest())
	return &nodev1.PutSecretResponse{Outcome: outcome, Secret: taken}, err
}

func (s *secretService) DeleteSecret(
	_ context.Context, r *nodev1.DeleteSecretRequest,
) (*nodev1.DeleteSecretResponse, error) {
	return &nodev1.DeleteSecretResponse{}, s.drop(r.GetNamespace(), r.GetName())
}

func showSecret(o shown) (*nodev1.Secret, error) {
	object, err := asStruct(o)
	return &nodev1.Secret{
		Namespace: o.Meta().Namespace, Name: o.Meta().Name, Uid: string(o.Meta().UID), Revision: o.Revision,
		Immutable: o.Immutable(), Type: string(o.Secret().Type), Keys: o.keys, Object: object,
		Locked: o.why(),
	}, err
}
