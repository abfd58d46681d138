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

// Terms holds what a method or a path asks of its callers.
type Terms struct {
	Verb  Verb
	Scope Scope
}

// Unary authenticates, authorizes and audits unary calls. methods maps each method's full
// name, such as "/node.v1.PodService/GetPod", to its terms. A method without terms is denied.
func (a *Authenticator) Unary(methods map[string]Terms) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		terms := termsOf(info.FullMethod, methods)
		ctx, c, err := a.admit(ctx, Call{Method: info.FullMethod, Message: req}, terms.Verb)
		if err == nil {
			err = a.confine(ctx, c, terms.Scope, namespaceIn(req))
		}
		if err != nil {
			return nil, err
		}
		end, err := a.begin(c)
		if err != nil {
			return nil, err
		}
		if c.Verb == Exec { // the one that may take an hour
			var done func()
			ctx, done = a.stay(ctx)
			defer done()
		}
		ctx, note := withNote(ctx)
		resp, err := handler(ctx, req)
		if cause := context.Cause(ctx); err != nil && errors.Is(cause, errOver) {
			resp, err = nil, cause
		}
		ending := Ending{Outcome: status.Code(err).String(), Note: note}
		if err == nil {
			ending.Answer = resp
		}
		end(ending)
		return resp, err
	}
}

// Stream is Unary for streams. It holds each identity to its number of them, and ends
// those that outlive their credential.
func (a *Authenticator) Stream(methods map[string]Terms) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		terms := termsOf(info.FullMethod, methods)
		ctx, c, err := a.admit(ss.Context(), Call{Method: info.FullMethod}, terms.Verb)
		if err == nil && terms.Scope == WholeNode { // the others depend on the first message
			err = a.confine(ctx, c, terms.Scope, "")
		}
		if err != nil {
			return err
		}
		release, err := a.streams.Acquire(c.Identity)
		if err != nil {
			a.audit.Refuse(c, codes.ResourceExhausted.String())
			return err
		}
		defer release()
		ctx, done := a.stay(ctx)
		defer done()
		ctx, note := withNote(ctx)
		audited := &auditedStream{ServerStream: ss, ctx: ctx, begin: func(first any) (func(Ending), error) {
			c.Message = first
			if err := a.confine(ctx, c, terms.Scope, namespaceIn(first)); err != nil {
				return nil, err
			}
			return a.begin(c)
		}}
		err = handler(srv, audited)
		if cause := context.Cause(ctx); errors.Is(cause, errOver) {
			err = cause
		}
		audited.ended(err, note)
		return err
	}
}

// admit identifies and authorizes the caller. A context that already carries an identity
// keeps it: it comes from our own HTTP side, which has authenticated it.
func (a *Authenticator) admit(ctx context.Context, c Call, verb Verb) (context.Context, Call, error) {
	c.Verb, c.Started = verb, time.Now()
	id, ok := From(ctx)
	if !ok {
		var err error
		e := callEvidence(ctx)
		if ctx, id, err = a.identified(ctx, e); err != nil {
			c.From = e.from()
			a.audit.Refuse(c, codes.Unauthenticated.String())
			return ctx, c, status.Error(codes.Unauthenticated, unauthorized(err))
		}
	}
	c.Identity, c.From = id, fromOf(ctx)
	if err := a.permit(ctx, c.Verb, apiAccesses(c.Verb)); err != nil {
		a.audit.Refuse(c, status.Code(err).String())
		return ctx, c, err
	}
	return ctx, c, nil
}

// confine refuses a call that leaves the namespaces to which its caller is narrowed.
func (a *Authenticator) confine(ctx context.Context, c Call, scope Scope, namespace string) error {
	err := scope.permits(ctx, namespace)
	if err != nil {
		a.audit.Refuse(c, status.Code(err).String())
	}
	return err
}

// termsOf returns the terms of a method. They permit nothing if it has none.
func termsOf(method string, methods map[string]Terms) Terms {
	if isAboutService(method) {
		return Terms{Read, Everyone}
	}
	return methods[method]
}

// isAboutService reports whether a method is about health or reflection. They describe the service itself, and every
// client asks for them.
func isAboutService(method string) bool {
	return strings.HasPrefix(method, "/grpc.health.v1.") || strings.HasPrefix(method, "/grpc.reflection.v1")
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
