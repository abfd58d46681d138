package server

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/auth"
)

// tokenService makes, lists and revokes the node's tokens.
type tokenService struct {
	nodev1.UnimplementedTokensServiceServer
	tokens *auth.Authenticator
}

var _ nodev1.TokensServiceServer = (*tokenService)(nil)

// ListTokens returns all tokens, without their secrets.
func (s *tokenService) ListTokens(context.Context, *nodev1.ListTokensRequest) (*nodev1.ListTokensResponse, error) {
	answer := &nodev1.ListTokensResponse{}
	for _, t := range s.tokens.Tokens() {
		answer.Tokens = append(answer.Tokens, showToken(t))
	}
	return answer, nil
}

// CreateToken makes a token and returns its secret.
func (s *tokenService) CreateToken(
	ctx context.Context, r *nodev1.CreateTokenRequest,
) (*nodev1.CreateTokenResponse, error) {
	wanted := auth.NewToken{Name: r.GetName(), Role: auth.Role(r.GetRole()), Namespaces: r.GetNamespaces()}
	if r.Lifetime != nil {
		wanted.Lifetime = r.GetLifetime().AsDuration()
		if wanted.Lifetime <= 0 {
			return nil, fmt.Errorf("token %q: lifetime %s: must be greater than 0, or absent for a token without an end: %w",
				wanted.Name, wanted.Lifetime, node.ErrInvalid)
		}
	}
	secret, made, err := s.tokens.CreateToken(ctx, wanted)
	if err != nil {
		return nil, err
	}
	return &nodev1.CreateTokenResponse{Token: showToken(made), Secret: secret}, nil
}

// RevokeToken removes a token.
func (s *tokenService) RevokeToken(
	_ context.Context, r *nodev1.RevokeTokenRequest,
) (*nodev1.RevokeTokenResponse, error) {
	if err := s.tokens.RevokeToken(r.GetName()); err != nil {
		return nil, err
	}
	return &nodev1.RevokeTokenResponse{}, nil
}

func showToken(t auth.Token) *nodev1.Token {
	return &nodev1.Token{
		Name: t.Name, Id: t.ID, Role: string(t.Role), Namespaces: t.Namespaces, CreatedAt: given(t.Created), CreatedBy: t.CreatedBy,
		ExpiresAt: given(t.Expires), Expired: t.Expired, LastUsedAt: given(t.LastUsed),
	}
}

// given returns nil for the zero time.
func given(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
