package kubeletapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"nodal/server/auth"
	"nodal/server/method"
)

// Config holds the needs of each group of paths.
type Config struct {
	Pods    Pods
	Streams Streams
	Logs    Logs
	Figures Figures
	Health  Health
	Process Process
	System  SystemLogs
}

// Route is one path. Its handler expects that right and scope were checked.
type Route struct {
	Method  string // or AnyMethod
	Pattern string
	Right   auth.Verb
	Scope   auth.Scope
	On      method.Listeners
	Handler http.HandlerFunc
	Body    bool // has to be read whole before the handler runs
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
	table := []Route{
		{"GET", attachPath, auth.Exec, auth.OneNamespace, method.Full, cfg.Streams.attach, false},
		{"POST", attachPath, auth.Exec, auth.OneNamespace, method.Full, cfg.Streams.attach, false},
		{"GET", attachPathUID, auth.Exec, auth.OneNamespace, method.Full, cfg.Streams.attach, false},
		{"POST", attachPathUID, auth.Exec, auth.OneNamespace, method.Full, cfg.Streams.attach, false},
		{"GET", "/configz", auth.Read, auth.WholeNode, method.Full, process.configz, false},
		{"GET", "/containerLogs/{namespace}/{pod}/{container}", auth.Read, auth.OneNamespace, method.Full, cfg.Logs.read, false},
		{"PUT", "/debug/flags/v", auth.Admin, auth.WholeNode, method.Full, process.setVerbosity, true},
		{"GET", "/debug/pprof/", auth.Admin, auth.WholeNode, method.Full, process.profile, false},
		{"GET", "/debug/pprof/{profile}", auth.Admin, auth.WholeNode, method.Full, process.profile, false},
		{"GET", execPath, auth.Exec, auth.OneNamespace, method.Full, cfg.Streams.exec, false},
		{"POST", execPath, auth.Exec, auth.OneNamespace, method.Full, cfg.Streams.exec, false},
		{"GET", execPathUID, auth.Exec, auth.OneNamespace, method.Full, cfg.Streams.exec, false},
		{"POST", execPathUID, auth.Exec, auth.OneNamespace, method.Full, cfg.Streams.exec, false},
		{"GET", "/flagz", auth.Read, auth.WholeNode, method.Full, process.flagz, false},
		{AnyMethod, "/healthz", auth.Read, auth.Everyone, method.Every, cfg.Health.all, false},
		{AnyMethod, "/healthz/{check}", auth.Read, auth.Everyone, method.Every, cfg.Health.one, false},
		{AnyMethod, "/logs", auth.Read, auth.Everyone, method.Full, withSlash, false},
		{"GET", "/logs/*", auth.Admin, auth.WholeNode, method.Full, cfg.System.serve, false},
		{"GET", "/metrics", auth.Read, auth.WholeNode, method.Reads, cfg.Figures.agent, false},
		{"GET", "/metrics/cadvisor", auth.Read, auth.WholeNode, method.Reads, cfg.Figures.cadvisor, false},
		{"GET", "/metrics/probes", auth.Read, auth.WholeNode, method.Reads, cfg.Figures.probes, false},
		{"GET", "/metrics/resource", auth.Read, auth.WholeNode, method.Reads, cfg.Figures.resource, false},
		{"GET", "/metrics/slis", auth.Read, auth.WholeNode, method.Reads, cfg.Health.results, false},
		{"GET", "/openapi.json", auth.Read, auth.Everyone, method.Reads, document, false},
		{"GET", "/pods", auth.Read, auth.SomeNamespaces, method.Reads, cfg.Pods.list, false},
		{"GET", "/pods/", auth.Read, auth.SomeNamespaces, method.Reads, cfg.Pods.list, false},
		{"GET", forwardPath, auth.Exec, auth.OneNamespace, method.Full, cfg.Streams.portForward, false},
		{"POST", forwardPath, auth.Exec, auth.OneNamespace, method.Full, cfg.Streams.portForward, false},
		{"GET", forwardPathUID, auth.Exec, auth.OneNamespace, method.Full, cfg.Streams.portForward, false},
		{"POST", forwardPathUID, auth.Exec, auth.OneNamespace, method.Full, cfg.Streams.portForward, false},
		{"POST", runPath, auth.Exec, auth.OneNamespace, method.Full, cfg.Streams.run, true},
		{"POST", runPathUID, auth.Exec, auth.OneNamespace, method.Full, cfg.Streams.run, true},
		{AnyMethod, "/runningpods", auth.Read, auth.Everyone, method.Full, withSlash, false},
		{"GET", "/runningpods/", auth.Read, auth.SomeNamespaces, method.Full, cfg.Pods.running, false},
		{"GET", "/stats/summary", auth.Read, auth.SomeNamespaces, method.Reads, cfg.Figures.summary, false},
		{"POST", "/stats/summary", auth.Read, auth.SomeNamespaces, method.Full, cfg.Figures.summary, false},
		{"GET", "/statusz", auth.Read, auth.WholeNode, method.Full, process.statusz, false},
	}
	process.paths = firstWords(table)
	return withTwins(table)
}

// twins are the first words of paths that upstream serves with a slash at their end too: its router cuts that off. Other
// paths, such as /metrics and /healthz, are handlers of their own there, and have one form.
var twins = []string{"/attach/", "/containerLogs/", "/exec/", "/portForward/", "/run/", "/stats/"}

// withTwins adds these forms to the table.
func withTwins(table []Route) []Route {
	for _, r := range table {
		if slices.ContainsFunc(twins, func(word string) bool { return strings.HasPrefix(r.Pattern, word) }) {
			r.Pattern += "/"
			table = append(table, r)
		}
	}
	slices.SortStableFunc(table, func(a, b Route) int {
		return cmp.Or(cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Method, b.Method))
	})
	return table
}

// withSlash redirects to the path with a slash at its end, as the router of upstream's does for directories.
func withSlash(w http.ResponseWriter, r *http.Request) {
	to := *r.URL
	to.Path, to.RawPath, to.Host, to.Scheme = r.URL.Path+"/", "", "", ""
	http.Redirect(w, r, to.String(), http.StatusTemporaryRedirect)
}

// firstWords returns the part of each pattern before its parameters, each once.
func firstWords(table []Route) []string {
	var paths []string
	for _, r := range table {
		path, _, _ := strings.Cut(strings.TrimSuffix(r.Pattern, "*"), "{")
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
