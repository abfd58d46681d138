package auth

import (
	"context"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"nodal/node"
)

// mostAnswers bounds the answers in one piece that an identity is given at a time. Each is whole in memory until the client has
// read it, and a list may have megabytes.
const mostAnswers = 8

// longestWait bounds how long a request waits for its turn: clients that read slowly could have it wait for hours.
const longestWait = 30 * time.Second

// turns has requests of one identity wait for each other.
type turns struct {
	mu   sync.Mutex
	open map[string]*places
}

type places struct {
	taken chan struct{}
	users int // that have one or wait for one
}

// wait returns when a place is free, or false if the context ends before that.
func (t *turns) wait(ctx context.Context, key string) (leave func(), ok bool) {
	p := t.join(key)
	select {
	case p.taken <- struct{}{}:
		return func() { <-p.taken; t.part(key) }, true
	case <-ctx.Done():
		t.part(key)
		return nil, false
	}
}

func (t *turns) join(key string) *places {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[string]*places{}
	}
	p := t.open[key]
	if p == nil {
		p = &places{taken: make(chan struct{}, mostAnswers)}
		t.open[key] = p
	}
	p.users++
	return p
}

func (t *turns) part(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.open[key]
	if p.users--; p.users == 0 {
		delete(t.open, key)
	}
}

// InTurn gives each identity a few answers in one piece at a time; its other requests wait, and are refused after a while.
func (a *Authenticator) InTurn(next http.Handler, refused func(http.ResponseWriter, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, _ := From(r.Context())
		ctx, cancel := context.WithTimeout(r.Context(), longestWait)
		leave, ok := a.turns.wait(ctx, id.key())
		cancel()
		switch {
		case ok:
			defer leave()
			next.ServeHTTP(w, r)
		case r.Context().Err() == nil:
			refused(w, refuse(codes.ResourceExhausted, node.ErrNotReady,
				"%q has not read %d answers yet that it asked for before, and is given no more at a time; it has waited %s", id.Name, mostAnswers, longestWait))
		}
	})
}
