package command

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// nodeConn is a connection to the node's API.
type nodeConn = grpc.ClientConn

// withNode calls the agent at a socket.
func withNode(socket string, do func(*nodeConn) error) error {
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(conn)
}

// askNode runs a command of a verb that is a client of the agent on this machine, and returns the exit code.
func askNode(verb, socket string, c Console, do func(context.Context, *nodeConn) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := withNode(socket, func(conn *nodeConn) error { return do(ctx, conn) })
	switch {
	case err == nil:
		return 0
	case status.Code(err) == codes.Unavailable:
		fmt.Fprintf(c.Err, "kubelet %s: no agent answers at %s; start it, or name its socket with --socket (%s)\n",
			verb, socket, status.Convert(err).Message())
	default:
		fmt.Fprintf(c.Err, "kubelet %s: %s\n", verb, status.Convert(err).Message())
	}
	return 1
}
