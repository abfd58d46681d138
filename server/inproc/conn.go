package inproc

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Conn is both ends of a gRPC connection. Register every service before the first call.
type Conn struct {
	unary   grpc.UnaryServerInterceptor
	stream  grpc.StreamServerInterceptor
	methods map[string]method
}

// method is a unary handler or a stream description, never both.
type method struct {
	impl   any
	unary  grpc.MethodHandler
	stream *grpc.StreamDesc
}

var (
	_ grpc.ClientConnInterface = (*Conn)(nil)
	_ grpc.ServiceRegistrar    = (*Conn)(nil)
)

// New returns a Conn that runs each call through the interceptors, the first outermost.
func New(unary []grpc.UnaryServerInterceptor, stream []grpc.StreamServerInterceptor) *Conn {
	return &Conn{unary: chainUnary(unary), stream: chainStream(stream), methods: map[string]method{}}
}

// RegisterService adds a service, as grpc.Server does.
func (c *Conn) RegisterService(desc *grpc.ServiceDesc, impl any) {
	for _, m := range desc.Methods {
		c.methods["/"+desc.ServiceName+"/"+m.MethodName] = method{impl: impl, unary: m.Handler}
	}
	for i, s := range desc.Streams {
		c.methods["/"+desc.ServiceName+"/"+s.StreamName] = method{impl: impl, stream: &desc.Streams[i]}
	}
}

// Invoke runs a unary call in the caller's goroutine.
func (c *Conn) Invoke(ctx context.Context, name string, args, reply any, opts ...grpc.CallOption) (err error) {
	options, err := readOptions(opts)
	if err != nil {
		return err
	}
	transport := newTransport(name)
	defer func() { options.finish(transport, err) }()

	m, ok := c.methods[name]
	if !ok || m.unary == nil {
		return status.Errorf(codes.Unimplemented, "unknown method %s", name)
	}
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	serverCtx, cancel := context.WithCancel(serverContext(ctx, transport))
	defer cancel()
	resp, err := callUnary(serverCtx, name, m, args, c.unary)
	if err != nil {
		return err
	}
	if err := copyMessage(reply, resp); err != nil {
		return status.Errorf(codes.Internal, "copy the answer of %s: %v", name, err)
	}
	return nil
}

func callUnary(
	ctx context.Context, name string, m method, args any, chain grpc.UnaryServerInterceptor,
) (resp any, err error) {
	defer recovered(ctx, name, &err)
	decode := func(into any) error {
		if err := copyMessage(into, args); err != nil {
			return status.Errorf(codes.Internal, "copy the request of %s: %v", name, err)
		}
		return nil
	}
	resp, err = m.unary(m.impl, ctx, decode, chain)
	return resp, statusError(err)
}

// recovered turns a panic into an error. A stream's handler has a goroutine of its own, in which
// net/http cannot catch it. One bad request would end the process.
func recovered(ctx context.Context, name string, err *error) {
	if p := recover(); p != nil {
		slog.ErrorContext(ctx, "handler panicked", "method", name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "%s failed inside", name)
	}
}

// statusError returns a handler's error as a client would get it over the wire.
func statusError(err error) error {
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	if !ok {
		s = status.FromContextError(err)
	}
	return s.Err()
}

// serverContext returns the client's context as a handler should see it.
func serverContext(ctx context.Context, t *transport) context.Context {
	incoming, _ := metadata.FromOutgoingContext(ctx) // a copy
	ctx = metadata.NewIncomingContext(ctx, incoming)
	ctx = metadata.NewOutgoingContext(ctx, nil) // or the handler's own calls would send it on
	ctx = peer.NewContext(ctx, localPeer())
	return grpc.NewContextWithServerTransportStream(ctx, t)
}

func localPeer() *peer.Peer { return &peer.Peer{Addr: localAddr{}, LocalAddr: localAddr{}} }

type localAddr struct{}

var _ net.Addr = localAddr{}

func (localAddr) Network() string { return "inproc" }
func (localAddr) String() string  { return "inproc" }

func chainUnary(all []grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	if len(all) == 0 {
		return nil
	}
	first, rest := all[0], chainUnary(all[1:])
	if rest == nil {
		return first
	}
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		return first(ctx, req, info, func(ctx context.Context, req any) (any, error) {
			return rest(ctx, req, info, handler)
		})
	}
}

func chainStream(all []grpc.StreamServerInterceptor) grpc.StreamServerInterceptor {
	if len(all) == 0 {
		return func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			return handler(srv, ss)
		}
	}
	first, rest := all[0], chainStream(all[1:])
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		return first(srv, ss, info, func(srv any, ss grpc.ServerStream) error {
			return rest(srv, ss, info, handler)
		})
	}
}
