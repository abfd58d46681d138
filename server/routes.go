package server

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/node"
	"nodal/server/auth"
	"nodal/server/kube"
	"nodal/server/kubeletapi"
	"nodal/server/method"
	"nodal/server/metrics"
	"nodal/server/rest"
	"nodal/server/wire"
)

// upstream returns the label by which upstream's metrics name a kind of listener.
func upstream(l method.Listeners) string {
	if l == method.Full {
		return "readwrite"
	}
	return "readonly"
}

// route is one line of the table. Its handler checks the right.
type route struct {
	method  string // or kubeletapi.AnyMethod
	pattern string
	right   auth.Verb
	scope   auth.Scope
	on      method.Listeners
	handler http.Handler
}

// routes returns everything that a node of the name serves over HTTP, sorted by pattern and method: the kubelet's own paths,
// the same below the proxy of the node, the paths of the Kubernetes API, and those of the API's protos. For the last two the
// interceptors of the connection check the rights, as for gRPC.
func routes(
	name string, r *rest.Handlers, own []kubeletapi.Route, api []method.Method, local grpc.ClientConnInterface, a *auth.Authenticator,
	limits wire.BodyLimits,
) ([]route, error) {
	asked := &rights{guard: a}
	table := kubernetes(kube.Routes(local, asked), api, a, limits)
	for _, k := range own {
		audit := func(handler http.Handler) http.Handler {
			audited := a.Audited(k.Right, handler)
			if k.Body { // the audit log identifies the command in it
				audited = wire.ReadBody(limits, audited)
			}
			return audited
		}
		audited, terms := audit(k.Handler), auth.Terms{Verb: k.Right, Scope: k.Scope}
		table = append(table, route{k.Method, k.Pattern, k.Right, k.Scope, k.On, a.Kubelet(terms, audited)})
		if on := k.On & method.Full; on != 0 {
			proxied := a.Kubelet(terms, audit(kube.NodeProxy(name, k.Handler)))
			table = append(table, route{k.Method, kube.NodeProxyRoot + k.Pattern, k.Right, k.Scope, on, proxied})
		}
		if path := kube.SubresourcePath(k.Pattern); path != "" {
			table = append(table, route{k.Method, path, k.Right, k.Scope, k.On, a.Kubelet(terms, kube.Itself(kube.Subresource(local, audited)))})
		}
	}
	for _, m := range api {
		for _, p := range m.Paths {
			handler, err := r.Handler(m, p)
			if err != nil {
				return nil, err
			}
			guarded := a.BeforeBody(m.Terms(), m.Name, handler, forbidden)
			if p.Verb == http.MethodGet && !m.Stream {
				guarded = inOnePiece(a, false, guarded, forbidden)
			}
			table = append(table, route{p.Verb, p.Pattern, m.Right, m.Scope, m.On, guarded})
		}
	}
	slices.SortFunc(table, func(a, b route) int {
		return cmp.Or(cmp.Compare(a.pattern, b.pattern), cmp.Compare(a.method, b.method))
	})
	asked.fill(table, own)
	return table, nil
}

// kubernetes guards the paths of the Kubernetes API, except those of containers' logs and streams.
func kubernetes(all []kube.Route, api []method.Method, a *auth.Authenticator, limits wire.BodyLimits) (table []route) {
	limits.Types = kube.BodyTypes
	open, known := auth.Terms{Verb: auth.Read, Scope: auth.Everyone}, method.Terms(api)
	for _, k := range all {
		handler := kube.Itself(k.Handler)
		if k.Body {
			handler = wire.ReadBody(limits, handler)
		}
		terms, calls := known[k.Calls]
		if !calls {
			guarded := a.Kubelet(open, a.Audited(auth.Read, handler))
			table = append(table, route{k.Method, k.Pattern, open.Verb, open.Scope, method.Full, guarded})
			continue
		}
		terms.Scope = cmp.Or(k.Scope, terms.Scope)
		guarded := a.Before(terms, k.Calls, handler, kube.Refuse)
		if k.Method == http.MethodGet {
			guarded = inOnePiece(a, k.Watched, guarded, kube.Refuse)
		}
		table = append(table, route{k.Method, k.Pattern, terms.Verb, terms.Scope, method.Full, guarded})
	}
	return table
}

// inOnePiece bounds what a caller keeps in memory of answers that it does not read. Watches have a number of their own; other
// paths than those that can be watched give no heed to the word.
func inOnePiece(a *auth.Authenticator, watched bool, next http.Handler, refuse func(http.ResponseWriter, error)) http.Handler {
	answer := a.InTurn(wire.Prompt(next), refuse)
	if !watched {
		return answer
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if on, _ := strconv.ParseBool(r.URL.Query().Get("watch")); on {
			next.ServeHTTP(w, r)
			return
		}
		answer.ServeHTTP(w, r)
	})
}

// debugging reports whether a path is one of upstream's debugging handlers, or leads to one.
func (rt route) debugging() bool {
	return kubeletapi.IsDebugging(strings.TrimPrefix(rt.pattern, kube.NodeProxyRoot)) || kube.IsSubresource(rt.pattern)
}

// router serves the table.
type router struct {
	table       []route
	front       Front
	noDebugging bool
}

// serve builds the handler of one kind of listener.
func (r router) serve(kind method.Listeners) http.Handler {
	mux := chi.NewMux()
	mux.Use(r.front.Requests.Count(upstream(kind), metrics.Routed(mux)))
	mux.NotFound(notFound)
	mux.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) { methodNotAllowed(mux, w, r) })
	a, open := r.front.Auth, auth.Terms{Verb: auth.Read, Scope: auth.Everyone}
	// The read-only port answers as upstream's does: its debugging handlers are off.
	noDebugging := r.noDebugging && kind == method.Full || kind == method.ReadOnly
	if noDebugging {
		for _, path := range kubeletapi.Debugging() {
			mux.Handle(path, a.Kubelet(open, a.Audited(auth.Read, http.HandlerFunc(kubeletapi.DebuggingDisabled))))
		}
	}
	var served []route
	for _, rt := range r.table {
		if rt.on&kind == 0 || noDebugging && rt.debugging() {
			continue
		}
		served = append(served, rt)
		if rt.method == kubeletapi.AnyMethod {
			mux.Handle(rt.pattern, rt.handler)
		} else {
			mux.Method(rt.method, rt.pattern, rt.handler)
		}
	}
	mux.Method(http.MethodGet, "/", a.Kubelet(open, a.Audited(auth.Read, index(served))))
	return mux
}

// index lists the served paths.
func index(served []route) http.Handler {
	var text strings.Builder
	for _, rt := range served {
		fmt.Fprintf(&text, "%-6s %s\n", rt.method, rt.pattern)
	}
	return http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		wire.WriteText(w, http.StatusOK, text.String())
	})
}

func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/") }

// unauthorized answers a caller without a valid credential, as JSON below /v1 and in upstream's
// words elsewhere.
func unauthorized(w http.ResponseWriter, r *http.Request) {
	if isAPI(r) {
		wire.WriteStatus(w, status.New(codes.Unauthenticated, auth.Refused(r)))
		return
	}
	wire.WriteText(w, http.StatusUnauthorized, auth.Refused(r))
}

// unauthenticatedCall is unauthorized in the words of gRPC.
func unauthenticatedCall(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Grpc-Status", strconv.Itoa(int(codes.Unauthenticated)))
	w.Header().Set("Grpc-Message", auth.Refused(r))
	w.WriteHeader(http.StatusOK)
}

// forbidden answers a caller that may not make a call, or not now.
func forbidden(w http.ResponseWriter, err error) { wire.WriteStatus(w, status.Convert(err)) }

func notFound(w http.ResponseWriter, r *http.Request) {
	if isAPI(r) {
		wire.WriteStatus(w, status.Newf(codes.NotFound, "%s: there is no such path", r.URL.Path))
		return
	}
	if kube.Serves(r.Method + " " + r.URL.Path) {
		kube.Refuse(w, fmt.Errorf("%s: there is no such path on a node; kubectl api-resources lists what there is: %w", r.URL.Path, node.ErrNotFound))
		return
	}
	wire.WriteText(w, http.StatusNotFound, "404: Page Not Found")
}

// methodNotAllowed names the allowed methods in the header Allow, as HTTP demands.
func methodNotAllowed(mux *chi.Mux, w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{"DELETE", "GET", "PATCH", "POST", "PUT"} {
		if mux.Match(chi.NewRouteContext(), method, r.URL.Path) {
			allowed = append(allowed, method)
			w.Header().Add("Allow", method)
		}
	}
	if isAPI(r) {
		wire.WriteStatusAs(w, http.StatusMethodNotAllowed, status.Newf(codes.Unimplemented,
			"%s %s: this path takes %s", r.Method, r.URL.Path, strings.Join(allowed, " or ")))
		return
	}
	if kube.Serves(r.Method + " " + r.URL.Path) {
		kube.Refuse(w, fmt.Errorf("%s %s: on a node this path takes %s: %w", r.Method, r.URL.Path, strings.Join(allowed, " or "), node.ErrUnsupported))
		return
	}
	wire.WriteText(w, http.StatusMethodNotAllowed, "405: Method Not Allowed")
}
