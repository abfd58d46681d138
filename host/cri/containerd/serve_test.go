package containerd

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// serve connects a Client with services that register themselves.
func serve(t *testing.T, register func(grpc.ServiceRegistrar)) *Client {
	t.Helper()
	server := grpc.NewServer(grpc.UnaryInterceptor(wantNamespace), grpc.StreamInterceptor(wantStreamNamespace))
	register(server)
	listener := bufconn.Listen(1 << 16)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:containerd",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return New(conn)
}

// wantNamespace refuses calls that name no namespace, as containerd does.
func wantNamespace(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if err := inK8s(ctx); err != nil {
		return nil, err
	}
	return handle(ctx, request)
}

func wantStreamNamespace(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if err := inK8s(stream.Context()); err != nil {
		return err
	}
	return handle(server, stream)
}

func inK8s(ctx context.Context) error {
	if got := metadata.ValueFromIncomingContext(ctx, "containerd-namespace"); len(got) != 1 || got[0] != "k8s.io" {
		return status.Errorf(codes.FailedPrecondition, "namespaces are %q, want k8s.io", got)
	}
	return nil
}
