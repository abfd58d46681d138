package auth

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Unary authenticates, authorizes and audits unary calls. verbs maps each method's full
// name, such as "/node.v1.PodService/GetPod", to its right. A method without one is denied.
func (a *Authenticator) Unary(verbs map[string]Verb) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		ctx, c, err := a.admit(ctx, info.FullMethod, verbs)
		if err != nil {
			return nil, err
		}
		if c.verb == Exec { // the one that may take an hour
			var done func()
			ctx, done = a.stay(ctx)
			defer done()
		}
		resp, err := handler(ctx, req)
		if cause := context.Cause(ctx); err != nil && errors.Is(cause, errOver) {
			resp, err = nil, cause
		}
		a.auditEnd(ctx, c, status.Code(err).String())
		return resp, err
	}
}

// Stream is Unary for streams. It holds each identity to its number of them, and ends
// those that outlive their credential.
func (a *Authenticator) Stream(verbs map[string]Verb) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		ctx, c, err := a.admit(ss.Context(), info.FullMethod, verbs)
		if err != nil {
			return err
		}
		release, err := a.streams.Acquire(c.id)
		if err != nil {
			a.auditEnd(ctx, c, codes.ResourceExhausted.String())
			return err
		}
		defer release()
		a.auditBegin(ctx, c)
		ctx, done := a.stay(ctx)
		defer done()
		err = handler(srv, identifiedStream{ServerStream: ss, ctx: ctx})
		if cause := context.Cause(ctx); errors.Is(cause, errOver) {
			err = cause
		}
		a.auditEnd(ctx, c, status.Code(err).String())
		return err
	}
}

type identifiedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s identifiedStream) Context() context.Context { return s.ctx }

// admit identifies and authorizes the caller. A context that already carries an identity
// keeps it: it comes from our own HTTP side, which has authenticated it.
func (a *Authenticator) admit(ctx context.Context, method string, verbs map[string]Verb) (context.Context, call, error) {
	id, ok := From(ctx)
	if !ok {
		var err error
		if ctx, id, err = a.identified(ctx, callEvidence(ctx)); err != nil {
			return ctx, call{}, status.Error(codes.Unauthenticated, unauthorized(err))
		}
	}
	c := call{id: id, verb: methodVerb(method, verbs), path: method, started: time.Now()}
	if err := a.permit(ctx, c.verb, apiAccesses(c.verb)); err != nil {
		a.auditEnd(ctx, c, status.Code(err).String())
		return ctx, c, err
	}
	return ctx, c, nil
}

func methodVerb(method string, verbs map[string]Verb) Verb {
	if verb, ok := verbs[method]; ok {
		return verb
	}
	// Health and reflection describe the service itself, and every client asks for them.
	if strings.HasPrefix(method, "/grpc.health.v1.") || strings.HasPrefix(method, "/grpc.reflection.v1") {
		return Read
	}
	return ""
}

func callEvidence(ctx context.Context) evidence {
	var e evidence
	if p, ok := peer.FromContext(ctx); ok {
		if p.Addr != nil {
			e.remote = p.Addr.String()
		}
		switch info := p.AuthInfo.(type) {
		case credentials.TLSInfo:
			e.certs = info.State.PeerCertificates
		case SocketInfo:
			e.socket = &info.Identity
		}
	}
	if values := metadata.ValueFromIncomingContext(ctx, "authorization"); len(values) > 0 {
		e.authorization = values[0]
	}
	return e
}
