package trace

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Trace begins to follow a request and returns the function that ends it. The request
// becomes a part of the trace that traceparent names; an empty one begins a new trace.
// The answer of a stream is nil.
type Trace func(ctx context.Context, name, traceparent string, about ...slog.Attr) (
	followed context.Context, end func(answer any, err error),
)

// Off follows nothing.
func Off(ctx context.Context, _, _ string, _ ...slog.Attr) (context.Context, func(any, error)) {
	return ctx, func(any, error) {}
}

// Parent is the HTTP header of a traceparent. In gRPC's metadata it is in lower case.
const Parent = "Traceparent"

// Unary follows a call, by gRPC or by REST.
func (t Trace) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	ctx, end := t.begin(ctx, info.FullMethod)
	answer, err := handler(ctx, req)
	end(answer, err)
	return answer, err
}

// Stream follows every stream but a watch. A watch lasts for days, and its trace would
// show nothing but that.
func (t Trace) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if strings.Contains(info.FullMethod, "/Watch") {
		return handler(srv, ss)
	}
	ctx, end := t.begin(ss.Context(), info.FullMethod)
	err := handler(srv, followedStream{ss, ctx})
	end(nil, err)
	return err
}

func (t Trace) begin(ctx context.Context, method string) (context.Context, func(any, error)) {
	return t(ctx, strings.TrimPrefix(method, "/"), parentIn(ctx), slog.String("rpc.system", "grpc"))
}

type followedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s followedStream) Context() context.Context { return s.ctx }

func parentIn(ctx context.Context) string {
	if values := metadata.ValueFromIncomingContext(ctx, Parent); len(values) > 0 {
		return values[0]
	}
	return ""
}

// ForwardParent adds the request's traceparent to the metadata of calls made with the context.
func ForwardParent(ctx context.Context, r *http.Request) context.Context {
	if parent := r.Header.Get(Parent); parent != "" {
		return metadata.AppendToOutgoingContext(ctx, Parent, parent)
	}
	return ctx
}
