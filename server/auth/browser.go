package auth

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/node"
)

// Proof is a code or a token with which a browser signs in.
type Proof struct {
	Code  string `json:"code"`
	Token string `json:"token"`
}

// IssueCode makes a code that opens one session with the rights of the request's
// identity. It refuses anonymous callers, and those with a session: otherwise sessions
// could be renewed without end.
func (a *Authenticator) IssueCode(ctx context.Context) (code string, expires time.Time, err error) {
	id, ok := From(ctx)
	if !ok || !Allow(id.Role, Read) || id.Via == viaSession || id.Via == viaAnonymous {
		return "", time.Time{}, refuse(codes.PermissionDenied, node.ErrDenied, "%q may not let a browser in", id.Name)
	}
	now := time.Now()
	c := Call{Identity: id, From: fromOf(ctx), Verb: Admin, Method: "browser code", Started: now}
	end, err := a.begin(c)
	if err != nil {
		return "", time.Time{}, err
	}
	defer func() { end(Ending{Outcome: outcomeOf(err)}) }()
	p := pass{Identity: id}
	if id.Via == viaToken {
		known := a.tokens.get(now).byName[id.Name]
		if known == nil || known.id.Credential != id.Credential {
			return "", time.Time{}, refuse(codes.Unauthenticated, node.ErrDenied, "the token was revoked")
		}
		p.Token = hex.EncodeToString(known.hash[:])
	}
	p.Serial = a.ownSerial(ctx, now)
	code, expires = a.sessions.issueCode(p, now)
	return code, expires, nil
}

// ownSerial returns the serial number of the request's certificate, if the node's own authority has issued it.
func (a *Authenticator) ownSerial(ctx context.Context, now time.Time) string {
	id, _ := From(ctx)
	e, _ := ctx.Value(evidenceKey{}).(evidence)
	if id.Via != viaCertificate || len(e.certs) == 0 {
		return ""
	}
	if shown, err := a.trust.get(now).verified(e.certs, now); err != nil || !shown.own {
		return ""
	}
	return id.Credential
}

// SignIn opens a session for the browser that makes the request.
func (a *Authenticator) SignIn(r *http.Request, proof Proof) (_ *http.Cookie, _ Identity, err error) {
	now := time.Now()
	c := Call{From: requestEvidence(r).from(), Verb: Admin, Method: "browser session", Started: now}
	p, err := a.admitted(proof, now)
	if err != nil {
		a.logFailure("authentication failed", r.RemoteAddr, err)
		a.audit.Refuse(c, outcomeOf(err))
		return nil, Identity{}, err
	}
	c.Identity = p.Identity
	end, err := a.begin(c)
	if err != nil {
		return nil, Identity{}, err
	}
	defer func() { end(Ending{Outcome: outcomeOf(err)}) }()
	p.Host = r.Host
	secret, p, err := a.sessions.begin(p, now)
	if err != nil {
		return nil, Identity{}, err
	}
	id := p.Identity
	id.Via = viaSession
	cookie := sessionCookie(r, secret)
	cookie.MaxAge = int(sessionLife.Seconds())
	return cookie, id, nil
}

// outcomeOf names how a request ended, as the interceptors do.
func outcomeOf(err error) string { return status.Code(err).String() }

func (a *Authenticator) admitted(proof Proof, now time.Time) (pass, error) {
	if proof.Code != "" {
		if p, ok := a.sessions.redeem(proof.Code, now); ok {
			return p, nil
		}
		return pass{}, refuse(codes.Unauthenticated, node.ErrDenied, "the link was used already or is too old")
	}
	known, err := a.tokens.get(now).identify(proof.Token, now)
	if _, expired := errors.AsType[*expiredError](err); expired {
		return pass{}, refuse(codes.Unauthenticated, node.ErrDenied, "%s", err)
	}
	if err != nil {
		return pass{}, refuse(codes.Unauthenticated, node.ErrDenied, "the token is unknown or was revoked")
	}
	return pass{Identity: known.id, Token: hashOf(proof.Token)}, nil
}

// SignOut ends the request's session and returns the cookie that clears it.
func (a *Authenticator) SignOut(r *http.Request) (*http.Cookie, error) {
	if secret := sessionSecret(r); secret != "" {
		a.auditSignOut(r)
		err := a.sessions.end(secret)
		a.standing.check()
		if err != nil {
			return nil, err
		}
	}
	cookie := sessionCookie(r, "")
	cookie.MaxAge = -1
	return cookie, nil
}

// auditSignOut keeps that a session ends. It never keeps a session from ending.
func (a *Authenticator) auditSignOut(r *http.Request) {
	e, now := requestEvidence(r), time.Now()
	id, _, err := a.browser(e, now)
	if err != nil {
		return
	}
	c := Call{Identity: id, From: e.from(), Verb: Admin, Method: "browser sign-out", Started: now}
	if end, err := a.audit.Begin(c); err == nil {
		end(Ending{Outcome: codes.OK.String()})
	}
}

var (
	errSession      = errors.New("the session is over")
	errSessionToken = errors.New("the session is over: its token was revoked")

	errSessionCertificate = errors.New("the session is over: its certificate was revoked")
)

// browser returns the identity of a session, and its end. A session that came from a token ends with
// it, and has the role that the token has now.
func (a *Authenticator) browser(e evidence, now time.Time) (_ Identity, ends time.Time, _ error) {
	p, ok := a.sessions.find(e.session, e.host, now)
	if !ok {
		return Identity{}, ends, errSession
	}
	id, ends := p.Identity, p.Expires
	if _, revoked := (*a.revoked.get(now))[p.Serial]; revoked {
		return Identity{}, ends, errSessionCertificate
	}
	if p.Token != "" {
		known, err := a.tokens.get(now).named(id.Name, p.Token, now)
		if errors.Is(err, errUnknownToken) {
			return Identity{}, ends, errSessionToken
		}
		if err != nil {
			return Identity{}, ends, err
		}
		if id = known.id; !known.record.Expires.IsZero() && known.record.Expires.Before(ends) {
			ends = known.record.Expires
		}
	}
	id.Via = viaSession
	return id, ends, nil
}

// sessionCookie has the port in its name, since browsers keep the cookies of
// all ports of a host together, and two nodes may share one.
func sessionCookie(r *http.Request, secret string) *http.Cookie {
	port := "443"
	if _, given, err := net.SplitHostPort(r.Host); err == nil {
		port = given
	}
	return &http.Cookie{
		Name: "__Host-nodal-" + port, Value: secret, Path: "/",
		Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// sessionSecret returns the secret in the request's cookie. It returns "" without TLS, or if a
// page other than the node's own made the browser send the request. The cookie's SameSite is
// not enough: it admits pages on other ports of this host, and some browsers ignore it. GET
// is no exception, since a WebSocket opens with one.
func sessionSecret(r *http.Request) string {
	if r.TLS == nil || !fromOwnPage(r) {
		return ""
	}
	cookie, err := r.Cookie(sessionCookie(r, "").Name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

func fromOwnPage(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "https://"+r.Host {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin":
		return true
	case "none": // typed into the address bar
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	}
	return false
}
