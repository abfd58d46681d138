package listen

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"
)

// messageTimeout bounds how long the first message of a call takes to arrive.
const messageTimeout = 30 * time.Second

// arriving is the context of a call whose first message is not there yet. It ends when the
// message is late, and never afterwards: what a call then does may last.
type arriving struct {
	context.Context
	timer *time.Timer
}

type arrivingKey struct{}

func newArriving(ctx context.Context) *arriving {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(messageTimeout, cancel)
	// Otherwise the timer would keep a connection that is long gone, with its buffers.
	context.AfterFunc(ctx, func() { late.Stop() })
	return &arriving{ctx, late}
}

// Value returns a for arrivingKey, so that arrived finds it below other contexts.
func (a *arriving) Value(key any) any {
	if key == (arrivingKey{}) {
		return a
	}
	return a.Context.Value(key)
}

// arrived stops the timer of the call with this context: its first message is there. A call
// inside the process has no timer.
func arrived(ctx context.Context) {
	if a, ok := ctx.Value(arrivingKey{}).(*arriving); ok {
		a.timer.Stop()
	}
}

// waitForMessages returns the options that end calls whose message is late.
func waitForMessages() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) { return newArriving(ctx), nil }),
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			arrived(ctx)
			return handler(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			return handler(srv, &arrivingStream{ServerStream: ss})
		}),
	}
}

// arrivingStream notes its first message.
type arrivingStream struct {
	grpc.ServerStream
	arrived bool // only one goroutine receives at a time
}

func (s *arrivingStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if !s.arrived {
		s.arrived = true
		arrived(s.Context())
	}
	return err
}

// waitForMessage is waitForMessages for gRPC that comes by net/http.
func waitForMessage(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(newArriving(r.Context())))
	})
}
