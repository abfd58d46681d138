package server

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/server/auth"
	"nodal/server/method"
	"nodal/server/metrics"
	"nodal/server/wire"
)

// upstream's name for the server behind a kind of listener, a label of its metrics.
func upstream(l method.Listeners) string {
	if l == method.Full {
		return "readwrite"
	}
	return "readonly"
}

// route is one line of the table. Its handler checks the right.
type route struct {
	method  string // anyMethod: all
	pattern string
	verb    auth.Verb
	on      method.Listeners
	handler http.Handler
}

const (
	anyMethod = "*"

	attachPath     = "/attach/{namespace}/{pod}/{container}"
	attachPathUID  = "/attach/{namespace}/{pod}/{uid}/{container}"
	execPath       = "/exec/{namespace}/{pod}/{container}"
	execPathUID    = "/exec/{namespace}/{pod}/{uid}/{container}"
	forwardPath    = "/portForward/{namespace}/{pod}"
	forwardPathUID = "/portForward/{namespace}/{pod}/{uid}"
)

// routes returns everything that is served over HTTP, sorted by pattern and method. The
// paths of the API come from the protos; its interceptors check the rights, as for gRPC.
func routes(r *rest, k *kubelet, api []method.Method, a *auth.Authenticator) ([]route, error) {
	table := kubeletRoutes(k)
	for i, rt := range table {
		table[i].handler = a.Kubelet(rt.verb, rt.handler)
	}
	for _, m := range api {
		handler, err := r.handler(m)
		if err != nil {
			return nil, err
		}
		for _, p := range m.Paths {
			table = append(table, route{p.Verb, p.Pattern, m.Right, m.On, onlyKnown(p.Query, handler)})
		}
	}
	slices.SortFunc(table, func(a, b route) int {
		return cmp.Or(cmp.Compare(a.pattern, b.pattern), cmp.Compare(a.method, b.method))
	})
	return table, nil
}

// kubeletRoutes are the paths of a kubelet, as upstream has them.
func kubeletRoutes(k *kubelet) []route {
	return []route{
		{"GET", attachPath, auth.Exec, method.Full, http.HandlerFunc(k.attach)},
		{"POST", attachPath, auth.Exec, method.Full, http.HandlerFunc(k.attach)},
		{"GET", attachPathUID, auth.Exec, method.Full, http.HandlerFunc(k.attach)},
		{"POST", attachPathUID, auth.Exec, method.Full, http.HandlerFunc(k.attach)},
		{"GET", "/configz", auth.Read, method.Full, http.HandlerFunc(k.configz)},
		{"GET", "/containerLogs/{namespace}/{pod}/{container}", auth.Read, method.Full, http.HandlerFunc(k.containerLogs)},
		{"PUT", "/debug/flags/v", auth.Admin, method.Full, wire.ReadBody(k.limits.body(), http.HandlerFunc(k.verbosity))},
		{"GET", "/debug/pprof/", auth.Admin, method.Full, http.HandlerFunc(k.profile)},
		{"GET", "/debug/pprof/{profile}", auth.Admin, method.Full, http.HandlerFunc(k.profile)},
		{"GET", execPath, auth.Exec, method.Full, http.HandlerFunc(k.runLive)},
		{"POST", execPath, auth.Exec, method.Full, http.HandlerFunc(k.runLive)},
		{"GET", execPathUID, auth.Exec, method.Full, http.HandlerFunc(k.runLive)},
		{"POST", execPathUID, auth.Exec, method.Full, http.HandlerFunc(k.runLive)},
		{"GET", "/flagz", auth.Read, method.Full, http.HandlerFunc(k.flagz)},
		{anyMethod, "/healthz", auth.Read, method.Every, http.HandlerFunc(k.healthz)},
		{anyMethod, "/healthz/{check}", auth.Read, method.Every, http.HandlerFunc(k.healthzOne)},
		{"GET", "/metrics", auth.Read, method.Reads, k.agent},
		{"GET", "/metrics/cadvisor", auth.Read, method.Reads, http.HandlerFunc(k.cadvisorMetrics)},
		{"GET", "/metrics/probes", auth.Read, method.Reads, http.HandlerFunc(k.probeMetrics)},
		{"GET", "/metrics/resource", auth.Read, method.Reads, http.HandlerFunc(k.resourceMetrics)},
		{"GET", "/openapi.json", auth.Read, method.Reads, http.HandlerFunc(k.openapi)},
		{"GET", "/pods", auth.Read, method.Reads, http.HandlerFunc(k.pods)},
		{"GET", forwardPath, auth.Exec, method.Full, http.HandlerFunc(k.portForward)},
		{"POST", forwardPath, auth.Exec, method.Full, http.HandlerFunc(k.portForward)},
		{"GET", forwardPathUID, auth.Exec, method.Full, http.HandlerFunc(k.portForward)},
		{"POST", forwardPathUID, auth.Exec, method.Full, http.HandlerFunc(k.portForward)},
		{"POST", "/run/{namespace}/{pod}/{container}", auth.Exec, method.Full, wire.ReadBody(k.limits.body(), http.HandlerFunc(k.run))},
		{"POST", "/run/{namespace}/{pod}/{uid}/{container}", auth.Exec, method.Full, wire.ReadBody(k.limits.body(), http.HandlerFunc(k.run))},
		{"GET", "/runningpods/", auth.Read, method.Full, http.HandlerFunc(k.runningPods)},
		{"GET", "/stats/summary", auth.Read, method.Reads, http.HandlerFunc(k.statsSummary)},
		{"POST", "/stats/summary", auth.Read, method.Full, http.HandlerFunc(k.statsSummary)},
		{"GET", "/statusz", auth.Read, method.Full, http.HandlerFunc(k.statusz)},
	}
}

// debugPaths are upstream's debugging handlers. Where they are off, and on the
// read-only port, they answer in upstream's words, those to come included.
var debugPaths = []string{
	"/attach/*", "/containerLogs/*", "/debug/pprof/*", "/exec/*", "/logs/*", "/portForward/*", "/run/*", "/runningpods/*",
}

// serve builds the handler of one kind of listener.
func serve(table []route, kind method.Listeners, cfg Config) http.Handler {
	mux := chi.NewMux()
	mux.Use(cfg.Agent.Count(upstream(kind), metrics.Routed(mux)))
	mux.NotFound(notFound)
	mux.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) { methodNotAllowed(mux, w, r) })
	noDebug := cfg.Limits.NoDebug && kind == method.Full || kind == method.ReadOnly
	if noDebug {
		for _, path := range debugPaths {
			mux.Handle(path, cfg.Auth.Kubelet(auth.Read, http.HandlerFunc(debugDisabled)))
		}
	}
	var served []route
	for _, rt := range table {
		if rt.on&kind == 0 || noDebug && isDebug(rt.pattern) {
			continue
		}
		served = append(served, rt)
		if rt.method == anyMethod {
			mux.Handle(rt.pattern, rt.handler)
		} else {
			mux.Method(rt.method, rt.pattern, rt.handler)
		}
	}
	mux.Method(http.MethodGet, "/", cfg.Auth.Kubelet(auth.Read, index(served)))
	return mux
}

func isDebug(pattern string) bool {
	for _, path := range debugPaths {
		if strings.HasPrefix(pattern, strings.TrimSuffix(path, "*")) {
			return true
		}
	}
	return false
}

func debugDisabled(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "Debug endpoints are disabled.", http.StatusMethodNotAllowed)
}

// index lists what is served here.
func index(served []route) http.Handler {
	var text strings.Builder
	for _, rt := range served {
		fmt.Fprintf(&text, "%-6s %s\n", rt.method, rt.pattern)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { wire.WriteText(w, http.StatusOK, text.String()) })
}

func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/") }

// unauthorized answers who proves nothing, on the kubelet's own paths with upstream's body.
func unauthorized(w http.ResponseWriter, r *http.Request) {
	if isAPI(r) {
		wire.WriteStatus(w, status.New(codes.Unauthenticated, "Unauthorized"))
		return
	}
	wire.WriteText(w, http.StatusUnauthorized, "Unauthorized")
}

func notFound(w http.ResponseWriter, r *http.Request) {
	if isAPI(r) {
		wire.WriteStatus(w, status.Newf(codes.NotFound, "%s: there is no such path", r.URL.Path))
		return
	}
	wire.WriteText(w, http.StatusNotFound, "404: Page Not Found")
}

// methodNotAllowed says which methods are, as HTTP wants it.
func methodNotAllowed(mux *chi.Mux, w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{"DELETE", "GET", "POST", "PUT"} {
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
	wire.WriteText(w, http.StatusMethodNotAllowed, "405: Method Not Allowed")
}
