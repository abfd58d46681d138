package server

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/server/auth"
	"nodal/server/metrics"
)

// listeners are the kinds of listener that a route is served on.
type listeners uint8

const (
	listenFull     listeners = 1 << iota // the socket and 10250
	listenReadOnly                       // 10255
	listenHealth                         // 10248

	listenReads = listenFull | listenReadOnly
	listenAll   = listenFull | listenReadOnly | listenHealth
)

// server is what upstream calls those who serve.
func (l listeners) server() string {
	if l == listenFull {
		return "readwrite"
	}
	return "readonly"
}

// route is one line of the table. Below /v1 the right is checked by the
// interceptors, as for gRPC; elsewhere by the route itself.
type route struct {
	method  string // anyMethod: all
	pattern string
	verb    auth.Verb
	on      listeners
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

	claimPath        = "/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"
	configMapPath    = "/v1/namespaces/{namespace}/configmaps/{name}"
	podPath          = "/v1/namespaces/{namespace}/pods/{name}"
	runtimeClassPath = "/v1/runtimeclasses/{name}"
	secretPath       = "/v1/namespaces/{namespace}/secrets/{name}"
	trustBundlePath  = "/v1/clustertrustbundles/{name}"
	volumePath       = "/v1/persistentvolumes/{name}"
)

// routes is everything that is served over HTTP, sorted by pattern and method.
func routes(r *rest, k *kubelet) []route {
	return []route{
		{"GET", attachPath, auth.Exec, listenFull, http.HandlerFunc(k.attach)},
		{"POST", attachPath, auth.Exec, listenFull, http.HandlerFunc(k.attach)},
		{"GET", attachPathUID, auth.Exec, listenFull, http.HandlerFunc(k.attach)},
		{"POST", attachPathUID, auth.Exec, listenFull, http.HandlerFunc(k.attach)},
		{"GET", "/configz", auth.Read, listenFull, http.HandlerFunc(k.configz)},
		{"GET", "/containerLogs/{namespace}/{pod}/{container}", auth.Read, listenFull, http.HandlerFunc(k.containerLogs)},
		{"PUT", "/debug/flags/v", auth.Admin, listenFull, readBody(k.limits, http.HandlerFunc(k.verbosity))},
		{"GET", "/debug/pprof/", auth.Admin, listenFull, http.HandlerFunc(k.profile)},
		{"GET", "/debug/pprof/{profile}", auth.Admin, listenFull, http.HandlerFunc(k.profile)},
		{"GET", execPath, auth.Exec, listenFull, http.HandlerFunc(k.runLive)},
		{"POST", execPath, auth.Exec, listenFull, http.HandlerFunc(k.runLive)},
		{"GET", execPathUID, auth.Exec, listenFull, http.HandlerFunc(k.runLive)},
		{"POST", execPathUID, auth.Exec, listenFull, http.HandlerFunc(k.runLive)},
		{"GET", "/flagz", auth.Read, listenFull, http.HandlerFunc(k.flagz)},
		{anyMethod, "/healthz", auth.Read, listenAll, http.HandlerFunc(k.healthz)},
		{anyMethod, "/healthz/{check}", auth.Read, listenAll, http.HandlerFunc(k.healthzOne)},
		{"GET", "/metrics", auth.Read, listenReads, k.agent},
		{"GET", "/metrics/cadvisor", auth.Read, listenReads, http.HandlerFunc(k.cadvisorMetrics)},
		{"GET", "/metrics/probes", auth.Read, listenReads, http.HandlerFunc(k.probeMetrics)},
		{"GET", "/metrics/resource", auth.Read, listenReads, http.HandlerFunc(k.resourceMetrics)},
		{"GET", "/openapi.json", auth.Read, listenReads, http.HandlerFunc(k.openapi)},
		{"GET", "/pods", auth.Read, listenReads, http.HandlerFunc(k.pods)},
		{"GET", forwardPath, auth.Exec, listenFull, http.HandlerFunc(k.portForward)},
		{"POST", forwardPath, auth.Exec, listenFull, http.HandlerFunc(k.portForward)},
		{"GET", forwardPathUID, auth.Exec, listenFull, http.HandlerFunc(k.portForward)},
		{"POST", forwardPathUID, auth.Exec, listenFull, http.HandlerFunc(k.portForward)},
		{"POST", "/run/{namespace}/{pod}/{container}", auth.Exec, listenFull, readBody(k.limits, http.HandlerFunc(k.run))},
		{"POST", "/run/{namespace}/{pod}/{uid}/{container}", auth.Exec, listenFull, readBody(k.limits, http.HandlerFunc(k.run))},
		{"GET", "/runningpods/", auth.Read, listenFull, http.HandlerFunc(k.runningPods)},
		{"GET", "/stats/summary", auth.Read, listenReads, http.HandlerFunc(k.statsSummary)},
		{"POST", "/stats/summary", auth.Read, listenFull, http.HandlerFunc(k.statsSummary)},
		{"GET", "/statusz", auth.Read, listenFull, http.HandlerFunc(k.statusz)},
		{"GET", "/v1/clustertrustbundles", auth.Read, listenFull, r.unary},
		{"DELETE", trustBundlePath, auth.Write, listenFull, r.unary},
		{"GET", trustBundlePath, auth.Read, listenFull, r.unary},
		{"PUT", trustBundlePath, auth.Write, listenFull, r.unary},
		{"GET", "/v1/configmaps", auth.Read, listenFull, r.unary},
		{"GET", "/v1/events", auth.Read, listenReads, r.unary},
		{"GET", "/v1/events:watch", auth.Read, listenFull, r.watchEvents},
		{"DELETE", "/v1/images", auth.Write, listenFull, r.unary},
		{"GET", "/v1/images", auth.Read, listenFull, r.unary},
		{"POST", "/v1/images:import", auth.Write, listenFull, r.importImages},
		{"POST", "/v1/images:prune", auth.Write, listenFull, r.unary},
		{"GET", "/v1/images:prunePlan", auth.Read, listenFull, r.unary},
		{"GET", "/v1/images:pulls", auth.Read, listenFull, r.unary},
		{"DELETE", "/v1/manifests", auth.Write, listenFull, r.unary},
		{"POST", "/v1/manifests", auth.Write, listenFull, r.unary},
		{"POST", "/v1/manifests:plan", auth.Write, listenFull, r.unary},
		{"GET", "/v1/namespaces/{namespace}/configmaps", auth.Read, listenFull, r.unary},
		{"DELETE", configMapPath, auth.Write, listenFull, r.unary},
		{"GET", configMapPath, auth.Read, listenFull, r.unary},
		{"PUT", configMapPath, auth.Write, listenFull, r.unary},
		{"GET", "/v1/namespaces/{namespace}/persistentvolumeclaims", auth.Read, listenFull, r.unary},
		{"DELETE", claimPath, auth.Write, listenFull, r.unary},
		{"GET", claimPath, auth.Read, listenFull, r.unary},
		{"PUT", claimPath, auth.Write, listenFull, r.unary},
		{"GET", "/v1/namespaces/{namespace}/pods", auth.Read, listenReads, r.listPods},
		{"DELETE", podPath, auth.Write, listenFull, r.unary},
		{"GET", podPath, auth.Read, listenReads, r.unary},
		{"PUT", podPath, auth.Write, listenFull, r.unary},
		{"GET", podPath + "/containers/{container}/logs", auth.Read, listenFull, r.logs},
		{"POST", podPath + "/containers/{container}:run", auth.Exec, listenFull, r.unary},
		{"GET", podPath + "/stats", auth.Read, listenReads, r.unary},
		{"GET", podPath + "/timeline", auth.Read, listenReads, r.unary},
		{"POST", podPath + ":restart", auth.Write, listenFull, r.unary},
		{"POST", podPath + ":setCondition", auth.Write, listenFull, r.unary},
		{"GET", "/v1/namespaces/{namespace}/secrets", auth.Read, listenFull, r.unary},
		{"DELETE", secretPath, auth.Write, listenFull, r.unary},
		{"GET", secretPath, auth.Read, listenFull, r.unary},
		{"PUT", secretPath, auth.Write, listenFull, r.unary},
		{"GET", "/v1/node", auth.Read, listenReads, r.unary},
		{"GET", "/v1/node/capabilities", auth.Read, listenReads, r.unary},
		{"GET", "/v1/node/loglevel", auth.Admin, listenFull, r.unary},
		{"PUT", "/v1/node/loglevel", auth.Admin, listenFull, r.unary},
		{"GET", "/v1/node:watch", auth.Read, listenFull, r.watchNode},
		{"GET", "/v1/persistentvolumeclaims", auth.Read, listenFull, r.unary},
		{"GET", "/v1/persistentvolumes", auth.Read, listenFull, r.unary},
		{"DELETE", volumePath, auth.Write, listenFull, r.unary},
		{"GET", volumePath, auth.Read, listenFull, r.unary},
		{"PUT", volumePath, auth.Write, listenFull, r.unary},
		{"GET", "/v1/pods", auth.Read, listenReads, r.listPods},
		{"GET", "/v1/pods:watch", auth.Read, listenFull, r.watchPods},
		{"GET", "/v1/runtimeclasses", auth.Read, listenFull, r.unary},
		{"DELETE", runtimeClassPath, auth.Write, listenFull, r.unary},
		{"GET", runtimeClassPath, auth.Read, listenFull, r.unary},
		{"PUT", runtimeClassPath, auth.Write, listenFull, r.unary},
		{"GET", "/v1/secrets", auth.Read, listenFull, r.unary},
		{"GET", "/v1/stats", auth.Read, listenReads, r.unary},
		{"GET", "/v1/stats:watch", auth.Read, listenFull, r.watchStats},
	}
}

// debugPaths are upstream's debugging handlers. Where they are off, and on the
// read-only port, they answer in upstream's words, those to come included.
var debugPaths = []string{
	"/attach/*", "/containerLogs/*", "/debug/pprof/*", "/exec/*", "/logs/*", "/portForward/*", "/run/*", "/runningpods/*",
}

// serve builds the handler of one kind of listener.
func serve(table []route, kind listeners, cfg Config) http.Handler {
	mux := chi.NewMux()
	mux.Use(cfg.Agent.Count(kind.server(), metrics.Routed(mux)))
	mux.NotFound(notFound)
	mux.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) { methodNotAllowed(mux, w, r) })
	noDebug := cfg.Limits.NoDebug && kind == listenFull || kind == listenReadOnly
	if noDebug {
		for _, path := range debugPaths {
			mux.Handle(path, cfg.Auth.Kubelet(auth.Read, http.HandlerFunc(debugDisabled)))
		}
	}
	var served []route
	known := parameters()
	for _, rt := range table {
		if rt.on&kind == 0 || noDebug && isDebug(rt.pattern) {
			continue
		}
		served = append(served, rt)
		handler := rt.handler
		if strings.HasPrefix(rt.pattern, "/v1/") {
			handler = onlyKnown(known[rt.method+" "+rt.pattern], handler)
		} else {
			handler = cfg.Auth.Kubelet(rt.verb, handler)
		}
		if rt.method == anyMethod {
			mux.Handle(rt.pattern, handler)
		} else {
			mux.Method(rt.method, rt.pattern, handler)
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
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, text.String()) })
}

func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/") }

// unauthorized answers who proves nothing, on the kubelet's own paths with upstream's body.
func unauthorized(w http.ResponseWriter, r *http.Request) {
	if isAPI(r) {
		writeStatus(w, status.New(codes.Unauthenticated, "Unauthorized"))
		return
	}
	writeText(w, http.StatusUnauthorized, "Unauthorized")
}

func notFound(w http.ResponseWriter, r *http.Request) {
	if isAPI(r) {
		writeStatus(w, status.Newf(codes.NotFound, "%s: there is no such path", r.URL.Path))
		return
	}
	writeText(w, http.StatusNotFound, "404: Page Not Found")
}

// methodNotAllowed says which methods are, as HTTP wants it.
func methodNotAllowed(mux *chi.Mux, w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{"DELETE", "GET", "POST", "PUT"} {
		if mux.Match(chi.NewRouteContext(), method, r.URL.Path) {
			w.Header().Add("Allow", method)
		}
	}
	if isAPI(r) {
		writeStatusAs(w, http.StatusMethodNotAllowed, status.Newf(codes.Unimplemented, "%s %s: the method is not one of the path's", r.Method, r.URL.Path))
		return
	}
	writeText(w, http.StatusMethodNotAllowed, "405: Method Not Allowed")
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // who does not read it cannot be told
}
