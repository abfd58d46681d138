package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"nodal/node"
	"nodal/server/auth"
	"nodal/server/kube"
	"nodal/server/kubeletapi"
)

// rights judges requests without making them, by the table of routes and the guard that stands before them.
type rights struct {
	guard *auth.Authenticator
	paths *chi.Mux
	table []route
	terms map[string]auth.Terms // by method and pattern
	own   map[string]bool       // paths of the kubelet itself, which a cluster's roles name one by one
}

var _ kube.Rights = (*rights)(nil)

// fill takes the table over once it is complete.
func (s *rights) fill(table []route, own []kubeletapi.Route) {
	s.paths, s.table, s.terms, s.own = chi.NewMux(), table, map[string]auth.Terms{}, map[string]bool{}
	nothing := http.NotFoundHandler()
	for _, rt := range table {
		s.terms[rt.method+" "+rt.pattern] = auth.Terms{Verb: rt.right, Scope: rt.scope}
		if rt.method == kubeletapi.AnyMethod {
			s.paths.Handle(rt.pattern, nothing)
		} else {
			s.paths.Method(rt.method, rt.pattern, nothing)
		}
	}
	for _, k := range own {
		s.own[k.Pattern] = true
	}
}

// Find returns the pattern of the path that serves a request.
func (s *rights) Find(method, path string) (pattern string, found bool) {
	at := chi.NewRouteContext()
	if !s.paths.Match(at, method, path) {
		return "", false
	}
	return at.RoutePattern(), true
}

// May returns an error unless the caller could ask for a path of the pattern.
func (s *rights) May(ctx context.Context, method, pattern, namespace string) error {
	terms, known := s.terms[method+" "+pattern]
	if !known {
		if terms, known = s.terms[kubeletapi.AnyMethod+" "+pattern]; !known {
			return fmt.Errorf("%s %s: there is no such path: %w", method, pattern, node.ErrNotFound)
		}
	}
	if s.own[pattern] {
		return s.guard.MayAsk(ctx, terms, method, pattern, namespace)
	}
	return s.guard.MayCall(ctx, terms, namespace)
}

// Open yields the paths outside of the Kubernetes API's resources that have no parameters.
func (s *rights) Open(yield func(method, path string) bool) {
	for _, rt := range s.table {
		resource := kube.Serves(rt.method+" "+rt.pattern) && (rt.scope != auth.Everyone || rt.method != http.MethodGet)
		if resource || strings.ContainsAny(rt.pattern, "{*") {
			continue
		}
		if !yield(strings.ReplaceAll(rt.method, kubeletapi.AnyMethod, http.MethodGet), rt.pattern) {
			return
		}
	}
}
