// Package outsider connects to programs on this machine that the node does not trust: plugins of every kind, which serve
// gRPC on a socket.
package outsider

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const mostHeaders = 8 << 10

// Dial prepares a connection, which connect makes with the first call. mostMessage bounds each answer in bytes.
func Dial(mostMessage int, connect func(context.Context) (net.Conn, error)) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///outsider",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"), // servers refuse the path of a socket
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return connect(ctx) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostMessage)),
		grpc.WithMaxHeaderListSize(mostHeaders),
		grpc.WithIdleTimeout(0), // an idle plugin is still there
		grpc.WithDisableServiceConfig(), grpc.WithNoProxy(),
	)
}
