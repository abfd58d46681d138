package server

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/server/method"
	"nodal/server/wire"
)

// chains return the steps of every call, by gRPC or by REST. The caller is identified first. The
// handler's answer, or its panic, becomes a status before the audit log gets its outcome.
func chains(
	f Front, api []method.Method, log *slog.Logger,
) ([]grpc.UnaryServerInterceptor, []grpc.StreamServerInterceptor) {
	terms := method.Terms(api)
	unary := func(
		ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
	) (resp any, err error) {
		defer recovered(ctx, log, info.FullMethod, &err)
		resp, err = handler(ctx, req)
		if err != nil {
			return nil, wire.StatusOf(err).Err()
		}
		return resp, nil
	}
	stream := func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
		defer recovered(ss.Context(), log, info.FullMethod, &err)
		if err := handler(srv, ss); err != nil {
			return wire.StatusOf(err).Err()
		}
		return nil
	}
	return []grpc.UnaryServerInterceptor{f.Auth.Unary(terms), unary, f.Trace.Unary},
		[]grpc.StreamServerInterceptor{f.Auth.Stream(terms), stream, f.Trace.Stream}
}

// recovered turns a panic into an error: one bad request must not end the agent.
func recovered(ctx context.Context, log *slog.Logger, method string, err *error) {
	if p := recover(); p != nil {
		log.ErrorContext(ctx, "handler panicked", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "%s failed inside", method)
	}
}
