package auth

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"nodal/node"
)

// errOver is the kind of the errors that end a stream whose credential is void.
var errOver = fmt.Errorf("the credential is void: %w", node.ErrDenied)

func over(why string) error { return refuse(codes.Unauthenticated, errOver, "%s", why) }

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
	key, judge := a.judge(ctx)
	if judge == nil {
		return ctx, func() {}
	}
	ctx, end := context.WithCancelCause(ctx)
	leave := a.standing.add(key, judge, end)
	return ctx, func() {
		end(nil)
		leave()
	}
}

// judge tells whether a credential still counts, with the rights that it had, and when it ends by itself; never if that
// is zero.
type judge func(now time.Time) (ends time.Time, err error)

// judge returns the test of the caller's credential, and a key that all requests with the same test share. It is nil for
// a credential that cannot be revoked here: a socket, a cluster's token.
func (a *Authenticator) judge(ctx context.Context) (key string, _ judge) {
	id, _ := From(ctx)
	e, _ := ctx.Value(evidenceKey{}).(evidence)
	same := func(got Identity, ends time.Time, err error) (time.Time, error) {
		switch {
		case errors.Is(err, errUnknownToken):
			return ends, over("the token was revoked")
		case err != nil:
			return ends, over(err.Error())
		case a.cfg.AlwaysAllow || got.Role == id.Role && slices.Equal(got.Namespaces, id.Namespaces):
			return ends, nil
		}
		return ends, over("the rights of the caller have changed; call again")
	}
	rights := string(id.Role) + "/" + strings.Join(id.Namespaces, ",")
	switch token, _ := bearer(e.authorization); {
	case id.Via == viaSession:
		return "session/" + hashOf(e.session) + "/" + rights, func(now time.Time) (time.Time, error) {
			return same(a.browser(e, now))
		}
	case id.Via == viaCertificate:
		digest := chainDigest(e.certs)
		return "certificate/" + hex.EncodeToString(digest[:]) + "/" + rights, func(now time.Time) (time.Time, error) {
			got, err := a.certified(e.certs, now)
			return same(got, e.certs[0].NotAfter, err)
		}
	case id.Via == viaToken && a.isNodeToken(token):
		return "token/" + hashOf(token) + "/" + rights, func(now time.Time) (time.Time, error) {
			got, err := a.tokens.get(now).identify(token, now)
			if got == nil {
				return same(Identity{}, time.Time{}, err)
			}
			return same(got.id, got.record.Expires, err)
		}
	}
	return "", nil
}

// isNodeToken reports whether the node issued a token, not a cluster. A revoked token
// still shows it by its prefix.
func (a *Authenticator) isNodeToken(token string) bool {
	if strings.HasPrefix(token, tokenPrefix) {
		return true
	}
	now := time.Now()
	_, err := a.tokens.get(now).identify(token, now)
	return !errors.Is(err, errUnknownToken)
}

// standing holds the requests that take a while by their credentials. Each credential is judged once for all its
// requests: at once when one is revoked or a watch reports a change, when one ends by itself, and now and then for what
// the agent is not told.
type standing struct {
	pace *pace

	mu    sync.Mutex
	held  map[string]*holding
	timer *time.Timer
	due   time.Time // when the timer fires
}

// holding is one credential with the requests that it holds open.
type holding struct {
	judge judge
	ends  map[*context.CancelCauseFunc]struct{}
}

func (s *standing) add(key string, judge judge, end context.CancelCauseFunc) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if len(s.held) == 0 {
		s.held = map[string]*holding{}
		s.due = now.Add(s.pace.every())
		s.timer = time.AfterFunc(s.pace.every(), s.check)
	}
	h := s.held[key]
	if h == nil {
		h = &holding{judge, map[*context.CancelCauseFunc]struct{}{}}
		s.held[key] = h
		if ends, _ := judge(now); !ends.IsZero() && ends.Before(s.due) {
			s.wake(now, ends)
		}
	}
	h.ends[&end] = struct{}{}
	return func() { s.remove(key, &end) }
}

func (s *standing) remove(key string, end *context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[key]
	if delete(h.ends, end); len(h.ends) == 0 {
		delete(s.held, key)
	}
	if len(s.held) == 0 {
		s.timer.Stop()
	}
}

// check ends the requests whose credential no longer counts, and sets the timer again.
func (s *standing) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) == 0 {
		return
	}
	now := time.Now()
	next := now.Add(s.pace.every())
	for _, h := range s.held {
		ends, err := h.judge(now)
		if err == nil && !ends.IsZero() && ends.Before(next) {
			next = ends
		}
		if err == nil {
			continue
		}
		for end := range h.ends {
			(*end)(err)
		}
	}
	s.wake(now, next)
}

// wake sets the timer. A credential counts up to its end, so it is looked at just after that.
func (s *standing) wake(now, at time.Time) {
	s.due = at
	s.timer.Reset(max(at.Sub(now), 0) + time.Millisecond)
}
