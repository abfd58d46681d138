package cri

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

// Link serves clients in the same process. It has no socket, so a test under testing/synctest may
// use it.
type Link struct {
	server   *Server
	listener *bufconn.Listener
	served   chan error
}

// linkBuffer is the number of bytes that a connection holds in transit.
const linkBuffer = 1 << 16

// Link starts to serve clients that call Dial.
func (s *Server) Link() *Link {
	l := &Link{server: s, listener: bufconn.Listen(linkBuffer), served: make(chan error, 1)}
	go func() { l.served <- s.Serve(l.listener) }()
	return l
}

// Dial opens a connection, which the caller closes.
func (l *Link) Dial(options ...grpc.DialOption) (*grpc.ClientConn, error) {
	options = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, options...)
	conn, err := grpc.NewClient("passthrough:sim", append(options, grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) { return l.listener.DialContext(ctx) },
	))...)
	if err != nil {
		return nil, fmt.Errorf("connect to the simulated runtime: %w", err)
	}
	return conn, nil
}

// Close stops the server and waits for its end. It may do so before the server has begun.
func (l *Link) Close() error {
	l.server.Stop()
	if err := <-l.served; !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}
