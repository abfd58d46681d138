package metrics

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"nodal/node/store"
)

// Agent counts what the agent itself does. Its methods may be called from any
// goroutine.
type Agent struct {
	registry  *prometheus.Registry
	began     time.Time
	calls     callCounts
	requests  requestCounts
	pods      podCounts
	starts    startCounts
	admitted  admitCounts
	work      workCounts
	images    imageCounts
	actions   actionCounts
	volumes   volumeCounts
	resizes   resizeCounts
	config    prometheus.Gauge
	resources resourceCounts
	devices   deviceCounts
	csi       *prometheus.HistogramVec
	dra       draCounts
	views     func() ([]store.View, int64)
	cluster   atomic.Bool // the node is a member of one
}

// NewAgent returns zero counts for a node. views returns its pods.
func NewAgent(nodeName string, cgroups int, views func() ([]store.View, int64)) *Agent {
	a := &Agent{
		registry: prometheus.NewRegistry(), began: time.Now(), calls: newCallCounts(), requests: newRequestCounts(), pods: newPodCounts(), views: views,
		starts: newStartCounts(), admitted: newAdmitCounts(), work: newWorkCounts(), images: newImageCounts(),
		actions: newActionCounts(), volumes: newVolumeCounts(views), resizes: newResizeCounts(views),
		resources: newResourceCounts(), devices: newDeviceCounts(), csi: newCSICounts(), dra: newDRACounts(views),
		config: gauged("node_config_error", "1 while the configuration files are rejected, 0 otherwise."),
	}
	name := gaugeVec("node_name", "The node's name. The count is always 1.", "node")
	name.WithLabelValues(nodeName).Set(1)
	version := gaugeVec("cgroup_version", "cgroup version on the hosts.")
	version.WithLabelValues().Set(float64(cgroups))
	a.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), name, version, newPresent(views),
		a.calls.total, a.calls.failed, a.calls.took, a.calls.sandboxTook, a.calls.sandboxFailed,
		a.requests.total, a.requests.took, a.requests.inFlight,
		a.pods.started, a.pods.startFailed, a.pods.containers, a.pods.took, a.starts.whole, a.starts.own,
		a.config, newStages(views, &a.cluster), a.devices.registered, a.devices.took, a.csi,
	)
	a.registry.MustRegister(a.admitted.all()...)
	a.registry.MustRegister(a.work.all()...)
	a.registry.MustRegister(a.resources.all()...)
	a.registry.MustRegister(a.dra.all()...)
	a.registry.MustRegister(a.images.all()...)
	a.registry.MustRegister(a.actions.all()...)
	a.registry.MustRegister(a.volumes, a.volumes.took, a.volumes.measured)
	a.registry.MustRegister(a.resizes, a.resizes.asked, a.resizes.infeasible, a.resizes.accepted, a.resizes.took)
	return a
}

// Shutdowns adds when the machine's last shutdown began and when its pods had ended.
func (a *Agent) Shutdowns(last func() (began, ended time.Time)) {
	seconds := func(t time.Time) float64 {
		if t.IsZero() {
			return 0
		}
		return float64(t.UnixNano()) / 1e9
	}
	gauge := func(name, help string, value func() time.Time) {
		a.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "kubelet_" + name, Help: alpha + help},
			func() float64 { return seconds(value()) }))
	}
	gauge("graceful_shutdown_start_time_seconds", "Last graceful shutdown start time since unix epoch in seconds",
		func() time.Time { began, _ := last(); return began })
	gauge("graceful_shutdown_end_time_seconds", "Last graceful shutdown end time since unix epoch in seconds",
		func() time.Time { _, ended := last(); return ended })
}

// ConfigFailed notes whether the configuration files are rejected.
func (a *Agent) ConfigFailed(is bool) {
	a.config.Set(0)
	if is {
		a.config.Set(1)
	}
}

// ServeHTTP answers /metrics.
func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

func counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "kubelet_" + name, Help: alpha + help}, labels)
}

func gaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubelet_" + name, Help: alpha + help}, labels)
}

func histogramVec(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	opts := prometheus.HistogramOpts{Name: "kubelet_" + name, Help: alpha + help, Buckets: buckets}
	return prometheus.NewHistogramVec(opts, labels)
}

func count(name, help string) prometheus.Counter { return counterVec(name, help).WithLabelValues() }

func gauged(name, help string) prometheus.Gauge { return gaugeVec(name, help).WithLabelValues() }

// lasting is a histogram without labels.
type lasting interface {
	prometheus.Observer
	prometheus.Collector
}

func histogramOf(name, help string, buckets []float64) lasting {
	return histogramVec(name, help, buckets).WithLabelValues().(lasting)
}

const alpha = "[ALPHA] " // the stability that Kubernetes promises for a metric

// callCounts counts the calls to the container runtime.
type callCounts struct {
	total, failed *prometheus.CounterVec
	took          *prometheus.HistogramVec
	sandboxTook   *prometheus.HistogramVec
	sandboxFailed *prometheus.CounterVec
}

func newCallCounts() callCounts {
	return callCounts{
		total: counterVec("runtime_operations_total", "Cumulative number of runtime operations by operation type.",
			"operation_type"),
		failed: counterVec("runtime_operations_errors_total",
			"Cumulative number of runtime operation errors by operation type.", "operation_type"),
		took: histogramVec("runtime_operations_duration_seconds",
			"Duration in seconds of runtime operations. Broken down by operation type.",
			prometheus.ExponentialBuckets(.005, 2.5, 14), "operation_type"),
		sandboxTook: histogramVec("run_podsandbox_duration_seconds",
			"Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.",
			prometheus.DefBuckets, "runtime_handler"),
		sandboxFailed: counterVec("run_podsandbox_errors_total",
			"Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.", "runtime_handler"),
	}
}

// Called counts a call to the container runtime by the name of its CRI method. A call that
// makes a sandbox is counted by its handler too, unless that is the default.
func (a *Agent) Called(method, handler string, took time.Duration, err error) {
	operation := operationOf(method)
	a.calls.total.WithLabelValues(operation).Inc()
	a.calls.took.WithLabelValues(operation).Observe(took.Seconds())
	if err != nil {
		a.calls.failed.WithLabelValues(operation).Inc()
	}
	if method == "RunPodSandbox" {
		a.calls.sandboxTook.WithLabelValues(handler).Observe(took.Seconds())
		if err != nil {
			a.calls.sandboxFailed.WithLabelValues(handler).Inc()
			a.pods.startFailed.Inc()
		} else {
			a.pods.started.Inc()
		}
	}
}

// operationOf returns Kubernetes' name of a CRI method: run_podsandbox for RunPodSandbox.
func operationOf(method string) string {
	if method == "UpdateContainerResources" {
		return "update_container"
	}
	method = strings.ReplaceAll(method, "PodSandbox", "Podsandbox")
	var b strings.Builder
	for i, r := range method {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// requestCounts counts the requests over HTTP.
type requestCounts struct {
	total    *prometheus.CounterVec
	took     *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
}

func newRequestCounts() requestCounts {
	labels := []string{"method", "path", "server_type", "long_running"}
	return requestCounts{
		total: counterVec("http_requests_total", "Number of the http requests received since the server started",
			labels...),
		took: histogramVec("http_requests_duration_seconds", "Duration in seconds to serve http requests",
			prometheus.DefBuckets, labels...),
		inFlight: gaugeVec("http_inflight_requests", "Number of the inflight http requests", labels...),
	}
}

// Count counts the requests that a handler serves. server is readwrite or readonly; routed
// returns the pattern that serves a request, or "".
func (a *Agent) Count(server string, routed func(*http.Request) string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			pattern := routed(r)
			labels := []string{methodOf(r.Method), pathOf(pattern), server, longRunning(pattern)}
			a.requests.total.WithLabelValues(labels...).Inc()
			inFlight := a.requests.inFlight.WithLabelValues(labels...)
			inFlight.Inc()
			begin := time.Now()
			defer func() {
				inFlight.Dec()
				a.requests.took.WithLabelValues(labels...).Observe(time.Since(begin).Seconds())
			}()
			next.ServeHTTP(w, r)
		})
	}
}

// methodOf returns a known HTTP method, or "other". Clients can make up methods, and each would
// add a series for good.
func methodOf(name string) string {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return name
	}
	return "other"
}

// Routed returns a function that finds the pattern of a request in a router.
func Routed(mux *chi.Mux) func(*http.Request) string {
	return func(r *http.Request) string { return mux.Find(chi.NewRouteContext(), r.Method, r.URL.Path) }
}

// pathOf returns the first word of a pattern, or the first two where one is too general.
func pathOf(pattern string) string {
	if pattern == "" {
		return "other"
	}
	words := strings.SplitN(strings.TrimPrefix(pattern, "/"), "/", 3)
	if len(words) > 1 && (words[0] == "metrics" || words[0] == "v1" || words[0] == "stats") {
		return words[0] + "/" + words[1]
	}
	return words[0]
}

// longRunning returns the metric label for whether requests to a pattern may last long.
// They are watches, exec, attach, portForward and all paths below /debug.
func longRunning(pattern string) string {
	word := pathOf(pattern)
	switch {
	case word == "exec", word == "attach", word == "portForward", word == "debug", strings.HasSuffix(pattern, ":watch"):
		return "true"
	}
	return "false"
}
