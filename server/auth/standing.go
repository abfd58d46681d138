package auth

import (
	"context"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"nodal/node"
)

// recheckEvery bounds how long a stream outlives its credential. Signing out ends it at
// once.
const recheckEvery = time.Second

// errOver ends a stream whose credential is void.
var errOver = refuse(codes.Unauthenticated, node.ErrDenied, "the session is over, or the token was revoked")

type evidenceKey struct{}

// identified returns the request's context with its caller and the caller's credential.
func (a *Authenticator) identified(ctx context.Context, e evidence) (context.Context, Identity, error) {
	id, err := a.identify(ctx, e)
	if err != nil {
		return ctx, id, err
	}
	return context.WithValue(NewContext(ctx, id), evidenceKey{}, e), id, nil
}

// stay returns a context that ends with the session or the token of the request.
func (a *Authenticator) stay(ctx context.Context) (_ context.Context, done func()) {
	holds := a.holds(ctx)
	if holds == nil {
		return ctx, func() {}
	}
	ctx, end := context.WithCancelCause(ctx)
	one := &stay{holds, end}
	a.standing.add(one)
	return ctx, func() {
		end(nil)
		a.standing.remove(one)
	}
}

// holds returns a test of whether the caller's credential still counts, with the role that
// it had. It is nil for a credential that cannot be revoked here: a socket, a certificate, a
// cluster's token.
func (a *Authenticator) holds(ctx context.Context) func(now time.Time) bool {
	id, _ := From(ctx)
	e, _ := ctx.Value(evidenceKey{}).(evidence)
	same := func(now Identity) bool { return now.Role == id.Role || a.cfg.AlwaysAllow }
	switch token, _ := bearer(e.authorization); {
	case id.Via == viaSession:
		return func(now time.Time) bool {
			got, err := a.browser(e, now)
			return err == nil && same(got)
		}
	case id.Via == viaToken && a.isNodeToken(token):
		return func(now time.Time) bool {
			got, ok := a.tokens.get(now).identify(token)
			return ok && same(got)
		}
	}
	return nil
}

// isNodeToken reports whether the node issued a token, not a cluster. A revoked token
// still shows it by its prefix.
func (a *Authenticator) isNodeToken(token string) bool {
	_, known := a.tokens.get(time.Now()).identify(token)
	return known || strings.HasPrefix(token, tokenPrefix)
}

// standing holds the requests that take a while, each with its credential. One timer checks
// all of them, as long as there are any.
type standing struct {
	mu    sync.Mutex
	open  map[*stay]struct{}
	timer *time.Timer
}

type stay struct {
	holds func(now time.Time) bool
	end   context.CancelCauseFunc
}

func (s *standing) add(one *stay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == 0 {
		s.open = map[*stay]struct{}{}
		s.timer = time.AfterFunc(recheckEvery, s.check)
	}
	s.open[one] = struct{}{}
}

func (s *standing) remove(one *stay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, one)
	if len(s.open) == 0 {
		s.timer.Stop()
	}
}

// check ends the requests whose credential no longer counts, and sets the timer again.
func (s *standing) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == 0 {
		return
	}
	now := time.Now()
	for one := range s.open {
		if !one.holds(now) {
			one.end(errOver)
		}
	}
	s.timer.Reset(recheckEvery)
}
