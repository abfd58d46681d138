package command

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
)

// certificateNode is the other end of the command.
type certificateNode struct {
	nodev1.UnimplementedCertificatesServiceServer
}

func (certificateNode) ListCertificates(context.Context, *nodev1.ListCertificatesRequest) (*nodev1.ListCertificatesResponse, error) {
	at := timestamppb.New(time.Date(2026, 5, 1, 12, 0, 0, 0, time.Local))
	return &nodev1.ListCertificatesResponse{Certificates: []*nodev1.Certificate{
		{Serial: "1fa0", RevokedAt: at, RevokedBy: "uid:0"}, {Serial: "2b", Name: "admin", Role: "admin", ExpiresAt: at},
	}}, nil
}

func (certificateNode) RevokeCertificate(_ context.Context, r *nodev1.RevokeCertificateRequest) (*nodev1.RevokeCertificateResponse, error) {
	if r.GetSerial() == "2b" {
		return &nodev1.RevokeCertificateResponse{Certificate: &nodev1.Certificate{Serial: "2b", Name: "admin", Role: "admin"}}, nil
	}
	return &nodev1.RevokeCertificateResponse{Certificate: &nodev1.Certificate{Serial: r.GetSerial()}}, nil
}

func TestCertificateCommands(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "node.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	nodev1.RegisterCertificatesServiceServer(s, certificateNode{})
	go s.Serve(l)
	t.Cleanup(s.Stop)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"list", 0, "2b      admin  admin  2026-05-01 12:00:00  -                    -\n"},
		{"revoke 2b", 0, "revoked 2b (\"admin\", admin)\n"},
		{"revoke 77", 0, "revoked 77 (the node has not issued it"},
		{"revoke", 2, "want one SERIAL"},
		{"list 2b", 2, "unexpected argument \"2b\""},
		{"make", 2, "unknown command"},
		{"", 2, "command missing"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out bytes.Buffer
			code := runCertificate(append(strings.Fields(c.args), "--socket", socket), Console{Out: &out, Err: &out})
			if code != c.code || !strings.Contains(out.String(), c.want) {
				t.Errorf("got %d %q, want %d and %q", code, out.String(), c.code, c.want)
			}
		})
	}
}
