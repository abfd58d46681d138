package kubeletapi

import (
	"net/http"
	"slices"
	"strings"

	"nodal/server/auth"
	"nodal/server/method"
	"nodal/server/wire"
)

// Config holds the needs of each group of paths.
type Config struct {
	Pods    Pods
	Streams Streams
	Logs    Logs
	Figures Figures
	Health  Health
	Process Process
	Limits  wire.BodyLimits
}

// Route is one path. Its handler expects that the right was checked.
type Route struct {
	Method  string // or AnyMethod
	Pattern string
	Right   auth.Verb
	On      method.Listeners
	Handler http.HandlerFunc
}

// AnyMethod stands for every HTTP method.
const AnyMethod = "*"

const (
	attachPath     = "/attach/{namespace}/{pod}/{container}"
	attachPathUID  = "/attach/{namespace}/{pod}/{uid}/{container}"
	execPath       = "/exec/{namespace}/{pod}/{container}"
	execPathUID    = "/exec/{namespace}/{pod}/{uid}/{container}"
	forwardPath    = "/portForward/{namespace}/{pod}"
	forwardPathUID = "/portForward/{namespace}/{pod}/{uid}"
	runPath        = "/run/{namespace}/{pod}/{container}"
	runPathUID     = "/run/{namespace}/{pod}/{uid}/{container}"
)

// Routes returns the paths, sorted by pattern and method.
func Routes(cfg Config) []Route {
	process := &cfg.Process
	body := func(handle http.HandlerFunc) http.HandlerFunc { return wire.ReadBody(cfg.Limits, handle).ServeHTTP }
	table := []Route{
		{"GET", attachPath, auth.Exec, method.Full, cfg.Streams.attach},
		{"POST", attachPath, auth.Exec, method.Full, cfg.Streams.attach},
		{"GET", attachPathUID, auth.Exec, method.Full, cfg.Streams.attach},
		{"POST", attachPathUID, auth.Exec, method.Full, cfg.Streams.attach},
		{"GET", "/configz", auth.Read, method.Full, process.configz},
		{"GET", "/containerLogs/{namespace}/{pod}/{container}", auth.Read, method.Full, cfg.Logs.read},
		{"PUT", "/debug/flags/v", auth.Admin, method.Full, body(process.setVerbosity)},
		{"GET", "/debug/pprof/", auth.Admin, method.Full, process.profile},
		{"GET", "/debug/pprof/{profile}", auth.Admin, method.Full, process.profile},
		{"GET", execPath, auth.Exec, method.Full, cfg.Streams.exec},
		{"POST", execPath, auth.Exec, method.Full, cfg.Streams.exec},
		{"GET", execPathUID, auth.Exec, method.Full, cfg.Streams.exec},
		{"POST", execPathUID, auth.Exec, method.Full, cfg.Streams.exec},
		{"GET", "/flagz", auth.Read, method.Full, process.flagz},
		{AnyMethod, "/healthz", auth.Read, method.Every, cfg.Health.all},
		{AnyMethod, "/healthz/{check}", auth.Read, method.Every, cfg.Health.one},
		{"GET", "/metrics", auth.Read, method.Reads, cfg.Figures.agent},
		{"GET", "/metrics/cadvisor", auth.Read, method.Reads, cfg.Figures.cadvisor},
		{"GET", "/metrics/probes", auth.Read, method.Reads, cfg.Figures.probes},
		{"GET", "/metrics/resource", auth.Read, method.Reads, cfg.Figures.resource},
		{"GET", "/openapi.json", auth.Read, method.Reads, document},
		{"GET", "/pods", auth.Read, method.Reads, cfg.Pods.list},
		{"GET", forwardPath, auth.Exec, method.Full, cfg.Streams.portForward},
		{"POST", forwardPath, auth.Exec, method.Full, cfg.Streams.portForward},
		{"GET", forwardPathUID, auth.Exec, method.Full, cfg.Streams.portForward},
		{"POST", forwardPathUID, auth.Exec, method.Full, cfg.Streams.portForward},
		{"POST", runPath, auth.Exec, method.Full, body(cfg.Streams.run)},
		{"POST", runPathUID, auth.Exec, method.Full, body(cfg.Streams.run)},
		{"GET", "/runningpods/", auth.Read, method.Full, cfg.Pods.running},
		{"GET", "/stats/summary", auth.Read, method.Reads, cfg.Figures.summary},
		{"POST", "/stats/summary", auth.Read, method.Full, cfg.Figures.summary},
		{"GET", "/statusz", auth.Read, method.Full, process.statusz},
	}
	process.paths = firstWords(table)
	return table
}

// firstWords returns the part of each pattern before its parameters, each once.
func firstWords(table []Route) []string {
	var paths []string
	for _, r := range table {
		path, _, _ := strings.Cut(r.Pattern, "{")
		paths = append(paths, strings.TrimSuffix(path, "/"))
	}
	return slices.Compact(slices.Sorted(slices.Values(paths)))
}

// Debugging returns the patterns of upstream's debugging handlers, among them some that
// this server does not have. Where they are off, DebuggingDisabled answers at all of them.
func Debugging() []string {
	return []string{
		"/attach/*", "/containerLogs/*", "/debug/pprof/*", "/exec/*", "/logs/*", "/portForward/*", "/run/*", "/runningpods/*",
	}
}

// IsDebugging reports whether a pattern belongs to a debugging handler.
func IsDebugging(pattern string) bool {
	return slices.ContainsFunc(Debugging(), func(path string) bool {
		return strings.HasPrefix(pattern, strings.TrimSuffix(path, "*"))
	})
}

// DebuggingDisabled answers in upstream's words that debugging handlers are off.
func DebuggingDisabled(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "Debug endpoints are disabled.", http.StatusMethodNotAllowed)
}
