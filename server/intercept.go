package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"nodal/server/auth"
	"nodal/server/listen"
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
		if err := sized(terms[info.FullMethod], req); err != nil {
			return nil, err
		}
		resp, err = handler(ctx, req)
		if err != nil {
			return nil, wire.StatusOf(err).Err()
		}
		return resp, nil
	}
	stream := func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
		defer recovered(ss.Context(), log, info.FullMethod, &err)
		if err := handler(srv, &sizedStream{ss, terms[info.FullMethod]}); err != nil {
			return wire.StatusOf(err).Err()
		}
		return nil
	}
	return []grpc.UnaryServerInterceptor{f.Auth.Unary(terms), unary, f.Trace.Unary},
		[]grpc.StreamServerInterceptor{f.Auth.Stream(terms), stream, f.Trace.Stream}
}

// largestRead bounds a request that reads, in bytes: it names things. A watch keeps its request for as long as it lasts.
const largestRead = 64 << 10

// sized refuses a request that is larger than a caller with its right needs.
func sized(terms auth.Terms, request any) error {
	m, ok := request.(proto.Message)
	if !ok || terms.Verb != auth.Read || proto.Size(m) <= largestRead {
		return nil
	}
	return status.Errorf(codes.ResourceExhausted, "the request has %d bytes; one that reads may have %d", proto.Size(m), largestRead)
}

// sizedStream is a stream whose messages are sized.
type sizedStream struct {
	grpc.ServerStream
	terms auth.Terms
}

// RecvMsg receives a message, unless it is too large.
func (s *sizedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return sized(s.terms, m)
}

// oneMessage ends the body of a call that comes by net/http after its message, unless the method takes more.
func oneMessage(api []method.Method, next http.Handler) http.Handler {
	takes := map[string]bool{}
	for _, m := range api {
		takes[m.Name] = m.Takes
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if more, ours := takes[r.URL.Path]; ours && !more {
			r.Body = listen.OneMessage(r.Body)
		}
		next.ServeHTTP(w, r)
	})
}

// recovered turns a panic into an error: one bad request must not end the agent.
func recovered(ctx context.Context, log *slog.Logger, method string, err *error) {
	if p := recover(); p != nil {
		log.ErrorContext(ctx, "handler panicked", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "%s failed inside", method)
	}
}
