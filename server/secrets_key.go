package server

import (
	"context"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/seal"
)

// SecretsKey is the key that seals Secrets on the disk.
type SecretsKey interface {
	State() seal.State
	// Changed returns a channel that is closed when the state changes.
	Changed() <-chan struct{}
	// Rotate makes a new key and seals everything with it.
	Rotate(ctx context.Context) error
}

// noKey stands for the key of a node that seals nothing.
type noKey struct{}

var _ SecretsKey = noKey{}

func (noKey) State() seal.State            { return seal.State{} }
func (noKey) Changed() <-chan struct{}     { return nil }
func (noKey) Rotate(context.Context) error { return node.ErrUnsupported }

// RotateSecretsKey makes a new key and seals all Secrets with it.
func (s *nodeService) RotateSecretsKey(
	ctx context.Context, _ *nodev1.RotateSecretsKeyRequest,
) (*nodev1.RotateSecretsKeyResponse, error) {
	if err := s.key.Rotate(ctx); err != nil {
		return nil, err
	}
	return &nodev1.RotateSecretsKeyResponse{SecretsKey: showKey(s.key.State())}, nil
}

// showKey returns nil for a node that seals nothing.
func showKey(s seal.State) *nodev1.SecretsKey {
	if s.Source == (seal.Source{}) {
		return nil
	}
	return &nodev1.SecretsKey{
		Source: s.Source.String(), Place: s.Place, KeyId: s.KeyID, Records: int32(s.Records), Older: int32(s.Older),
		Unreadable: int32(s.Unreadable), Fault: s.Fault,
	}
}
