package auth

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// HTTP puts the caller's identity into the request's context and calls next. For a caller
// without a valid credential it calls refused, which has to answer 401 with the words of Refused.
func (a *Authenticator) HTTP(next, refused http.Handler) http.Handler {
	return a.identifying(next, refused, methodOf, strconv.Itoa(http.StatusUnauthorized))
}

// Calls is HTTP for calls of gRPC that come by net/http. The audit log has them in the words of gRPC.
func (a *Authenticator) Calls(next, refused http.Handler) http.Handler {
	return a.identifying(next, refused, func(r *http.Request) string { return r.URL.Path }, codes.Unauthenticated.String())
}

func (a *Authenticator) identifying(next, refused http.Handler, name func(*http.Request) string, outcome string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := requestEvidence(r)
		ctx, _, err := a.identified(r.Context(), e)
		if err != nil {
			a.audit.Refuse(Call{From: e.from(), Method: name(r), Started: time.Now()}, outcome)
			w.Header().Set("WWW-Authenticate", "Bearer")
			refused.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), refusedKey{}, unauthorized(err))))
			return
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

type refusedKey struct{}

// Refused returns the words that answer the caller of a request that HTTP has refused.
func Refused(r *http.Request) string {
	words, _ := r.Context().Value(refusedKey{}).(string)
	return cmp.Or(words, unauthorized(nil))
}

// Knows reports whether the request proves an identity, by its headers or its connection, and names it. An
// anonymous caller and a user of the socket without a role prove none. With AlwaysAllow they
// count as known, since any caller may do everything then.
func (a *Authenticator) Knows(r *http.Request) (caller string, known bool) {
	id, err := a.proven(r.Context(), requestEvidence(r))
	switch {
	case err == nil:
		return id.key(), id.Via != viaSocket || id.Role != RoleNone || a.cfg.AlwaysAllow
	case errors.Is(err, errNoCredential):
		return viaAnonymous, a.cfg.Anonymous && a.cfg.AlwaysAllow
	}
	return "", false
}

func requestEvidence(r *http.Request) evidence {
	e := evidence{
		remote: r.RemoteAddr, authorization: r.Header.Get("Authorization"),
		session: sessionSecret(r), host: r.Host,
	}
	if id, ok := r.Context().Value(socketKey{}).(Identity); ok {
		e.socket = &id
	}
	if r.TLS != nil {
		e.certs = r.TLS.PeerCertificates
	}
	return e
}

// BeforeBody refuses a request whose caller may not call method, before its body is read: the
// interceptors, which guard the method itself, run after that. A request without a body is
// left to them.
func (a *Authenticator) BeforeBody(terms Terms, method string, next http.Handler, refuse func(http.ResponseWriter, error)) http.Handler {
	before := a.Before(terms, method, next, refuse)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		before.ServeHTTP(w, r)
	})
}

// Before refuses a request whose caller may not call method. What the path names is all that is judged here: the
// interceptors judge what the method is then asked.
func (a *Authenticator) Before(terms Terms, method string, next http.Handler, refuse func(http.ResponseWriter, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := a.permit(r.Context(), terms.Verb, apiAccesses(terms.Verb))
		// A path that names no namespace may have it in its query, which the method reads.
		if namespace := r.PathValue("namespace"); err == nil && (namespace != "" || terms.Scope == WholeNode) {
			err = terms.Scope.permits(r.Context(), namespace)
		}
		if err != nil {
			id, _ := From(r.Context())
			c := Call{Identity: id, From: fromOf(r.Context()), Verb: terms.Verb, Method: method, Request: r, Started: time.Now()}
			a.audit.Refuse(c, status.Code(err).String())
			if r.ProtoMajor == 1 {
				w.Header().Set("Connection", "close") // net/http would read the body before it answers
			}
			refuse(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// MayCall judges whether the caller of a request could call a method with these terms, in a namespace or in all.
func (a *Authenticator) MayCall(ctx context.Context, terms Terms, namespace string) error {
	return a.may(ctx, terms, apiAccesses(terms.Verb), namespace)
}

// MayAsk is MayCall for one of the kubelet's own paths.
func (a *Authenticator) MayAsk(ctx context.Context, terms Terms, method, path, namespace string) error {
	return a.may(ctx, terms, accesses(terms.Verb, method, path), namespace)
}

func (a *Authenticator) may(ctx context.Context, terms Terms, names []Access, namespace string) error {
	if err := a.permit(ctx, terms.Verb, names); err != nil {
		return err
	}
	return terms.Scope.permits(ctx, namespace)
}

// Kubelet guards one of the kubelet's own paths, behind HTTP: it authorizes with
// upstream's answers, holds narrowed callers to their namespaces, bounds sessions and other requests that may last, and
// ends those that outlive their credential. Requests of the API proper are guarded by the gRPC interceptors instead.
func (a *Authenticator) Kubelet(terms Terms, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, _ := From(r.Context())
		verb := terms.Verb
		asked := accesses(verb, r.Method, r.URL.Path)
		refused := func(status int, text string) {
			a.audit.Refuse(kubeletCall(verb, r), strconv.Itoa(status))
			writeText(w, status, text)
		}
		switch err := a.permit(r.Context(), verb, asked); {
		case errors.Is(err, errNotAsked):
			refused(http.StatusInternalServerError, unanswered(id, asked))
			return
		case err != nil:
			refused(http.StatusForbidden, forbidden(id, asked))
			return
		}
		if err := terms.Scope.permits(r.Context(), r.PathValue("namespace")); err != nil {
			refused(http.StatusForbidden, "Forbidden: "+err.Error())
			return
		}
		if lasts(verb, r) {
			release, err := a.streams.Acquire(id)
			if err != nil {
				refused(http.StatusTooManyRequests, err.Error())
				return
			}
			defer release()
		}
		ctx, done := a.stay(r.Context())
		defer done()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Audited has a request to one of the kubelet's own paths kept before it runs. It stands behind Kubelet, and behind the
// reading of the body.
func (a *Authenticator) Audited(verb Verb, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		end, err := a.begin(kubeletCall(verb, r))
		if err != nil {
			writeText(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		ctx, note := withNote(r.Context())
		rec := &recorder{ResponseWriter: w, status: http.StatusOK}
		defer func() { end(Ending{Outcome: strconv.Itoa(rec.status), Note: note}) }()
		next.ServeHTTP(rec, r.WithContext(ctx))
	})
}

// kubeletCall describes a request to one of the kubelet's own paths.
func kubeletCall(verb Verb, r *http.Request) Call {
	id, _ := From(r.Context())
	return Call{
		Identity: id, From: fromOf(r.Context()), Verb: verb, Method: methodOf(r), Request: r, Started: time.Now(),
	}
}

// methodOf names what a request asks for without its query, which may hold a command.
func methodOf(r *http.Request) string { return r.Method + " " + r.URL.Path }

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	io.WriteString(w, text)
}

// recorder remembers the status for the audit log. It hijacks and flushes by itself,
// since the upgrade code of Kubernetes asks for those interfaces and does not unwrap.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Flush sends the buffer, where the connection can.
func (r *recorder) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() }

// Hijack takes the connection over, where it can be.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(r.ResponseWriter).Hijack()
	if err == nil {
		r.status = http.StatusSwitchingProtocols
	}
	return conn, rw, err
}

var (
	_ http.Hijacker = (*recorder)(nil)
	_ http.Flusher  = (*recorder)(nil)
)
