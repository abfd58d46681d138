package server

import (
	"net"
	"net/http"
	"net/netip"

	"k8s.io/streaming/pkg/httpstream"

	"nodal/server/auth"
	"nodal/server/wire"
)

// sameOrigin refuses requests that a page of another site has a browser send, with the
// user's own client certificate.
func sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	return protection.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A Kubernetes API server passes a page's WebSocket on, Origin included. It adds
		// X-Forwarded-For, a header that no page can set on a WebSocket.
		if httpstream.IsUpgradeRequest(r) && r.Header.Get("X-Forwarded-For") == "" {
			asChange := *r // a WebSocket opens by GET, which the protection counts as a read
			asChange.Method = http.MethodPost
			if err := protection.Check(&asChange); err != nil {
				wire.WriteText(w, http.StatusForbidden, err.Error())
				return
			}
		}
		next.ServeHTTP(w, r)
	}))
}

// asViewer gives each caller of an unauthenticated listener the same identity.
func asViewer(next http.Handler) http.Handler {
	viewer := auth.Identity{
		Name: "system:anonymous", Groups: []string{"system:unauthenticated"}, Role: auth.RoleViewer, Via: "anonymous",
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(auth.NewContext(r.Context(), viewer)))
	})
}

// localHost protects a loopback listener without authentication from DNS rebinding. A page
// can have its own name resolve to 127.0.0.1, but it cannot change the Host header that the
// browser then sends.
func localHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if onLoopback(r) && !isLocalName(r.Host) {
			wire.WriteText(w, http.StatusMisdirectedRequest, "The Host header has to be localhost or an address.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func onLoopback(r *http.Request) bool {
	address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(address.String())
	return err == nil && at.Addr().Unmap().IsLoopback()
}

func isLocalName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return host == "" || host == "localhost" || net.ParseIP(trimBrackets(host)) != nil
}

func trimBrackets(host string) string {
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		return host[1 : len(host)-1]
	}
	return host
}
