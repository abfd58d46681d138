package containerd

import (
	"context"
	"testing"

	streamingapi "github.com/containerd/containerd/api/services/streaming/v1"
	transferapi "github.com/containerd/containerd/api/services/transfer/v1"
	transfertypes "github.com/containerd/containerd/api/types/transfer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"nodal/node"
)

// fakeTransfer asks for a credential where one is offered, and then refuses.
type fakeTransfer struct {
	transferapi.UnimplementedTransferServer
	streamingapi.UnimplementedStreamingServer
	t       *testing.T
	streams chan streamingapi.Streaming_StreamServer
	got     *transfertypes.OCIRegistry
	answer  *transfertypes.AuthResponse
}

func (f *fakeTransfer) Stream(stream streamingapi.Streaming_StreamServer) error {
	first, err := stream.Recv()
	if err != nil || first.GetTypeUrl() != "containerd.services.streaming.v1.StreamInit" {
		f.t.Errorf("the stream begins with %v, %v", first, err)
	}
	f.streams <- stream
	if err := stream.Send(&anypb.Any{}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (f *fakeTransfer) Transfer(_ context.Context, r *transferapi.TransferRequest) (*emptypb.Empty, error) {
	f.got = &transfertypes.OCIRegistry{}
	if err := proto.Unmarshal(r.GetSource().GetValue(), f.got); err != nil || r.GetSource().GetTypeUrl() != "containerd.types.transfer.OCIRegistry" {
		f.t.Errorf("the source is %v, %v", r.GetSource(), err)
	}
	if f.got.GetResolver().GetAuthStream() != "" {
		stream := <-f.streams
		for range 2 { // registries ask for each scope
			if err := stream.Send(&anypb.Any{}); err != nil {
				return nil, err
			}
			answer, err := stream.Recv()
			if err != nil {
				return nil, err
			}
			f.answer = &transfertypes.AuthResponse{}
			if err := proto.Unmarshal(answer.GetValue(), f.answer); err != nil {
				return nil, err
			}
		}
	}
	return nil, status.Error(codes.NotFound, "failed to resolve image: not found")
}

func TestAnImageIsLookedUpWhereTheHostsLead(t *testing.T) {
	for _, c := range []struct {
		name, ref, full string
		as              *node.Credential
		kind            transfertypes.AuthType
		user, secret    string
	}{
		{"a short name, as anybody", "app:1", "docker.io/library/app:1", nil, 0, "", ""},
		{"a name of the library", "docker.io/app:1", "docker.io/library/app:1", nil, 0, "", ""},
		{"a name of Docker's with a password", "team/app:1", "docker.io/team/app:1",
			&node.Credential{Username: "me", Password: "pw"}, transfertypes.AuthType_CREDENTIALS, "me", "pw"},
		{"a full name with a token", "registry.test:5000/app:1", "registry.test:5000/app:1",
			&node.Credential{IdentityToken: "token"}, transfertypes.AuthType_REFRESH, "", "token"},
		{"a name on this machine", "localhost/app:1", "localhost/app:1", nil, 0, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := &fakeTransfer{t: t, streams: make(chan streamingapi.Streaming_StreamServer, 1)}
			client := serve(t, func(r grpc.ServiceRegistrar) {
				transferapi.RegisterTransferServer(r, fake)
				streamingapi.RegisterStreamingServer(r, fake)
			})
			if err := client.Resolve(t.Context(), c.ref, "/hosts", c.as); status.Code(err) != codes.NotFound {
				t.Errorf("got %v, want containerd's answer", err)
			}
			if got := fake.got; got.GetReference() != c.full || got.GetResolver().GetHostDir() != "/hosts" {
				t.Errorf("looked up %v, want %s", got, c.full)
			}
			if a := fake.answer; a.GetAuthType() != c.kind || a.GetUsername() != c.user || a.GetSecret() != c.secret {
				t.Errorf("answered %v, want %v of %q", a, c.kind, c.user)
			}
		})
	}
}
