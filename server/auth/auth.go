package auth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Config says which credentials count.
type Config struct {
	Material            // the agent's own authority, serving certificate and tokens
	ClientCAFile string // authentication.x509.clientCAFile, or empty
	SocketPath   string // members of its group are operators
	Anonymous    bool   // authentication.anonymous.enabled
	OtherTokens  bool   // a token that is not of the node's making counts as no credential, unless a cluster is asked about it
	AlwaysAllow  bool   // authorization.mode AlwaysAllow: every identity is admin
	MaxStreams   int    // concurrent streams an identity may hold; 0 means 256
	Log          *slog.Logger
	Audit        Auditor // nil keeps nothing

	Tokens TokenReviewer  // of a cluster; if nil, only the node's own tokens count
	Access AccessReviewer // of a cluster; if nil, only the node's own roles count

	// ServingFile is a certificate and its key that are served once they are there.
	ServingFile string
}

// Authenticator identifies the caller of a request.
type Authenticator struct {
	cfg      Config
	files    atomic.Pointer[Files]
	served   atomic.Pointer[reread[tls.Certificate]] // what the TLS port shows; nil without one
	moved    chan struct{}                           // signals Watch that files have others' names
	log      *slog.Logger
	audit    Auditor
	pace     pace
	trust    *reread[trust]
	tokens   *reread[tokenList]
	revoked  *reread[revokedList]
	issuing  sync.Mutex // held while records of tokens change
	uses     *uses
	sessions *sessions
	standing standing
	streams  *Limiter
	turns    turns

	failures   *rate.Limiter // of log lines, not of attempts: a token cannot be guessed
	suppressed atomic.Int64
}

// New reads the authorities and tokens that cfg names.
func New(cfg Config) (*Authenticator, error) {
	a := &Authenticator{
		cfg:      cfg,
		moved:    make(chan struct{}, 1),
		log:      cfg.Log,
		audit:    cfg.Audit,
		streams:  &Limiter{Max: cfg.MaxStreams},
		failures: rate.NewLimiter(1, 5),
	}
	a.files.Store(&Files{CertFile: cfg.CertFile, KeyFile: cfg.KeyFile, ClientCAFile: cfg.ClientCAFile})
	a.standing.pace = &a.pace
	if a.log == nil {
		a.log = slog.Default()
	}
	if a.audit == nil {
		a.audit = unaudited{}
	}
	if a.streams.Max == 0 {
		a.streams.Max = 256
	}
	var err error
	a.sessions = newSessions(cfg.SessionFile, a.log)
	a.trust, err = newReread(a.log, &a.pace, func() (*trust, error) {
		return loadTrust(cfg.CAFile, a.files.Load().ClientCAFile)
	})
	if err != nil {
		return nil, err
	}
	a.revoked, err = newReread(a.log, &a.pace, func() (*revokedList, error) { return loadRevoked(cfg.RevokedFile) })
	if err != nil {
		return nil, err
	}
	a.uses = newUses(cfg.TokenUseFile, a.log)
	dir := &tokenDir{path: cfg.TokenDir, uses: a.uses}
	if a.tokens, err = newReread(a.log, &a.pace, dir.load); err != nil {
		return nil, err
	}
	a.uses.keep(dir.list)
	return a, nil
}

// Streams bounds the long-lived requests that one identity holds.
func (a *Authenticator) Streams() *Limiter { return a.streams }

// evidence holds everything by which a request may identify its caller.
type evidence struct {
	remote        string
	socket        *Identity           // the process at the other end of a unix socket
	certs         []*x509.Certificate // unverified: the handshake only proves the key
	authorization string
	session       string // the secret in a browser's cookie
	host          string // that the browser knows the node by
}

// unauthorized returns the answer to a caller that err keeps out. Only one that holds the right secret learns more.
func unauthorized(err error) string {
	if expired, ok := errors.AsType[*expiredError](err); ok {
		return "Unauthorized: " + expired.Error()
	}
	return "Unauthorized"
}

// errNoCredential answers a caller that offers no credential.
var errNoCredential = errors.New("no credential")

func (a *Authenticator) identify(ctx context.Context, e evidence) (Identity, error) {
	id, err := a.proven(ctx, e)
	if errors.Is(err, errNoCredential) && a.cfg.Anonymous {
		id, err = Identity{Name: "system:anonymous", Groups: []string{"system:unauthenticated"}, Via: viaAnonymous}, nil
	}
	if err != nil {
		a.logFailure("authentication failed", e.remote, err)
		return Identity{}, err
	}
	if a.cfg.AlwaysAllow {
		id.Role, id.Namespaces = RoleAdmin, nil
	}
	return id, nil
}

// proven returns the first identity that e proves. A wrong credential does not stop
// the search, as a right one may follow, but it does rule out "no credential".
func (a *Authenticator) proven(ctx context.Context, e evidence) (Identity, error) {
	if e.socket != nil && e.socket.Role != RoleNone {
		return *e.socket, nil
	}
	now := time.Now()
	var wrong []error
	if len(e.certs) > 0 {
		id, err := a.certified(e.certs, now)
		if err == nil {
			return id, nil
		}
		wrong = append(wrong, fmt.Errorf("verify client certificate %q: %w", e.certs[0].Subject, err))
	}
	if token, ok := bearer(e.authorization); ok {
		id, err := a.holder(ctx, token, now)
		if err == nil {
			return id, nil
		}
		if !a.meansNothing(token, err) {
			wrong = append(wrong, err)
		}
	}
	if e.session != "" {
		id, _, err := a.browser(e, now)
		if err == nil {
			return id, nil
		}
		wrong = append(wrong, err)
	}
	if len(wrong) > 0 {
		return Identity{}, errors.Join(wrong...)
	}
	if e.socket != nil {
		return *e.socket, nil
	}
	return Identity{}, errNoCredential
}

// certified identifies the caller by a chain of certificates.
func (a *Authenticator) certified(chain []*x509.Certificate, now time.Time) (Identity, error) {
	return a.trust.get(now).identify(chain, *a.revoked.get(now), now)
}

// holder identifies the caller by a token. The node's own tokens come first, and are never
// passed to a cluster.
func (a *Authenticator) holder(ctx context.Context, token string, now time.Time) (Identity, error) {
	known, err := a.tokens.get(now).identify(token, now)
	if err == nil {
		return known.id, nil
	}
	if !errors.Is(err, errUnknownToken) || a.cfg.Tokens == nil || strings.HasPrefix(token, tokenPrefix) {
		return Identity{}, err
	}
	id, ok, err := a.cfg.Tokens.Review(ctx, token)
	if err != nil {
		return Identity{}, fmt.Errorf("review the token in the cluster: %w", err)
	}
	if !ok {
		return Identity{}, errUnknownToken
	}
	return id, nil
}

// meansNothing reports whether a token that proves nothing was meant for others: a client sends the same one to every
// kubelet. Upstream's does not look at tokens without a cluster to ask, and its clients count on that where anybody may
// come in. A token with the prefix of the node's own is meant for a node like this one.
func (a *Authenticator) meansNothing(token string, err error) bool {
	return a.cfg.OtherTokens && a.cfg.Tokens == nil && errors.Is(err, errUnknownToken) && !strings.HasPrefix(token, tokenPrefix)
}

// bearer returns the token of an Authorization header. Another scheme is no
// credential of ours.
func bearer(header string) (string, bool) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(header), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "bearer") && token != ""
}

// logFailure logs a caller that was refused. It drops what exceeds a rate and logs the number
// of dropped lines later, so that a scanner cannot fill the log.
func (a *Authenticator) logFailure(what, whose string, err error) {
	if !a.failures.Allow() {
		a.suppressed.Add(1)
		return
	}
	a.log.Warn(what, "whose", whose, "err", err, "suppressed", a.suppressed.Swap(0))
}
