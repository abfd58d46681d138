package server

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Trace begins to follow a request, as a part of the trace that a traceparent names if
// it came with one, and returns what is called when it is over. What it answers with
// is nil for a stream.
type Trace func(ctx context.Context, name, traceparent string, about ...slog.Attr) (context.Context, func(answer any, err error))

const traceHeader = "Traceparent" // in gRPC's metadata in lower case

// unary follows calls, by gRPC or by REST.
func (t Trace) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	ctx, end := t(ctx, strings.TrimPrefix(info.FullMethod, "/"), traceparentIn(ctx), slog.String("rpc.system", "grpc"))
	answer, err := handler(ctx, req)
	end(answer, err)
	return answer, err
}

// stream follows streams but for watches: these last for days, and all that there would
// be to tell is for how long somebody watched.
func (t Trace) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if strings.Contains(info.FullMethod, "/Watch") {
		return handler(srv, ss)
	}
	ctx, end := t(ss.Context(), strings.TrimPrefix(info.FullMethod, "/"), traceparentIn(ss.Context()), slog.String("rpc.system", "grpc"))
	err := handler(srv, followedStream{ss, ctx})
	end(nil, err)
	return err
}

type followedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s followedStream) Context() context.Context { return s.ctx }

func traceparentIn(ctx context.Context) string {
	if values := metadata.ValueFromIncomingContext(ctx, traceHeader); len(values) > 0 {
		return values[0]
	}
	return ""
}

// withTrace passes on to a call of the API of which trace the request is a part.
func withTrace(ctx context.Context, r *http.Request) context.Context {
	if parent := r.Header.Get(traceHeader); parent != "" {
		return metadata.AppendToOutgoingContext(ctx, traceHeader, parent)
	}
	return ctx
}

// follow follows a request to one of the kubelet's own paths, in ctx.
func (k *kubelet) follow(ctx context.Context, r *http.Request) (context.Context, func(error)) {
	if k.trace == nil {
		return ctx, func(error) {}
	}
	ctx, end := k.trace(ctx, r.Method+" "+chi.RouteContext(r.Context()).RoutePattern(), r.Header.Get(traceHeader),
		slog.String("k8s.namespace.name", chi.URLParam(r, "namespace")), slog.String("k8s.pod.name", chi.URLParam(r, "pod")))
	return ctx, func(err error) { end(nil, err) }
}
