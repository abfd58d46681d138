package auth

import (
	"context"
	"net/http"
	"strings"
)

// Borrowed is a browser's session for requests that prove themselves in another way than by its cookie.
type Borrowed struct{ secret string }

// Borrow returns the session of a request that the node's own page made. It reports false if the request has none.
func Borrow(r *http.Request) (Borrowed, bool) {
	secret := sessionSecret(r)
	return Borrowed{secret}, secret != ""
}

// Lend returns a copy of the request with this session as its only credential. Nothing in it says which page made it, as the
// caller has judged that.
func (b Borrowed) Lend(r *http.Request) *http.Request {
	lent := r.Clone(context.WithValue(r.Context(), socketKey{}, nil))
	if r.TLS != nil {
		encrypted := *r.TLS
		encrypted.PeerCertificates, encrypted.VerifiedChains = nil, nil
		lent.TLS = &encrypted
	}
	for name := range lent.Header {
		if strings.HasPrefix(name, "Sec-Fetch-") {
			lent.Header.Del(name)
		}
	}
	for _, name := range []string{"Authorization", "Cookie", "Origin", "Referer"} {
		lent.Header.Del(name)
	}
	lent.AddCookie(sessionCookie(r, b.secret))
	return lent
}
