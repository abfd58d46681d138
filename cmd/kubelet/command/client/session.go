package client

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
)

// dialled holds the node of a session once it is chosen.
type dialled struct {
	target target
	conn   *grpc.ClientConn
}

// mostMessage bounds the size of one answer: a thousand pods with all that they are take a few MiB.
const mostMessage = 256 << 20

// dial returns the connection to the node of the session.
func (s *session) dial() (*grpc.ClientConn, error) {
	if s.conn != nil {
		return s.conn, nil
	}
	chosen, err := s.reach.choose(ownSurroundings())
	if err != nil {
		return nil, err
	}
	s.target = chosen
	s.conn, err = chosen.dial()
	return s.conn, err
}

func (t target) dial() (*grpc.ClientConn, error) {
	size := grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostMessage), grpc.MaxCallSendMsgSize(mostMessage))
	if t.url == "" {
		return grpc.NewClient("unix:"+t.socket, grpc.WithTransportCredentials(insecure.NewCredentials()), size)
	}
	host, err := hostOf(t.url)
	if err != nil {
		return nil, err
	}
	trust, err := t.trust()
	if err != nil {
		return nil, err
	}
	return grpc.NewClient("dns:///"+host, grpc.WithTransportCredentials(credentials.NewTLS(trust)), size,
		grpc.WithPerRPCCredentials(bearer(t.token)))
}

func (s *session) close() {
	if s.conn != nil {
		s.conn.Close()
	}
}

// bearer sends a token with each call, and only over TLS.
type bearer string

var _ credentials.PerRPCCredentials = bearer("")

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return true }

// explain puts an error into words: what, where, and what to do.
func (s *session) explain(err error) string {
	said, fromNode := status.FromError(err)
	if !fromNode {
		return err.Error()
	}
	text := said.Message()
	switch said.Code() {
	case codes.Unavailable:
		return s.unreachable(text)
	case codes.Unauthenticated:
		return "node " + s.target.name() + ": " + text + "; its token may be revoked or expired: kubelet token create makes another on the node"
	case codes.PermissionDenied:
		return "node " + s.target.name() + ": " + text
	case codes.Canceled:
		return "stopped"
	}
	if text == "" {
		return said.Code().String()
	}
	return text
}

// unreachable says why a node does not answer.
func (s *session) unreachable(text string) string {
	where, text := "node "+s.target.name(), cause(text)
	switch {
	case s.target.url == "" && strings.Contains(text, "permission denied"):
		return "socket " + s.target.socket + ": permission denied; run it with sudo, or name the node with --node and give a token"
	case s.target.url == "":
		return "no node answers at " + s.target.socket + "; start it, or name another with --socket, --node or --context (" + text + ")"
	case strings.Contains(text, "x509:"):
		return where + ": its certificate is not trusted: " + lastPart(text) + "; give its authority with --ca, pki/ca.crt in the node's directory"
	}
	return where + " does not answer; check the address, and that nothing between drops the connection (" + text + ")"
}

// cause returns the innermost part of what the connection says of a failure.
func cause(text string) string {
	_, after, found := strings.Cut(text, "Error while dialing: ")
	if !found {
		return text
	}
	return strings.TrimSuffix(after, `"`)
}

// lastPart returns what a text says of certificates.
func lastPart(text string) string {
	_, after, _ := strings.Cut(text, "x509: ")
	return strings.Trim(after, `"`)
}

// clients of the services, on the connection of the session.
func (s *session) pods() (nodev1.PodsServiceClient, error) {
	return clientOf(s, nodev1.NewPodsServiceClient)
}

func clientOf[T any](s *session, make func(grpc.ClientConnInterface) T) (client T, err error) {
	conn, err := s.dial()
	if err != nil {
		return client, err
	}
	return make(conn), nil
}

// streamEnd returns nil for the end of a stream that was wanted.
func streamEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return err
}
