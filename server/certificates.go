package server

import (
	"context"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/server/auth"
)

// certificateService lists and revokes client certificates of the node's authority.
type certificateService struct {
	nodev1.UnimplementedCertificatesServiceServer
	certificates *auth.Authenticator
}

var _ nodev1.CertificatesServiceServer = (*certificateService)(nil)

// ListCertificates returns the certificates that the node knows.
func (s *certificateService) ListCertificates(
	context.Context, *nodev1.ListCertificatesRequest,
) (*nodev1.ListCertificatesResponse, error) {
	all, err := s.certificates.Certificates()
	if err != nil {
		return nil, err
	}
	answer := &nodev1.ListCertificatesResponse{}
	for _, c := range all {
		answer.Certificates = append(answer.Certificates, showCertificate(c))
	}
	return answer, nil
}

// RevokeCertificate revokes a certificate.
func (s *certificateService) RevokeCertificate(
	ctx context.Context, r *nodev1.RevokeCertificateRequest,
) (*nodev1.RevokeCertificateResponse, error) {
	revoked, err := s.certificates.RevokeCertificate(ctx, r.GetSerial())
	if err != nil {
		return nil, err
	}
	return &nodev1.RevokeCertificateResponse{Certificate: showCertificate(revoked)}, nil
}

func showCertificate(c auth.Certificate) *nodev1.Certificate {
	return &nodev1.Certificate{
		Serial: c.Serial, Name: c.Name, Role: string(c.Role), ExpiresAt: given(c.Expires),
		RevokedAt: given(c.Revoked), RevokedBy: c.RevokedBy,
	}
}
