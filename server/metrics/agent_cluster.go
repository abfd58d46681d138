package metrics

import (
	"context"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	client "k8s.io/client-go/tools/metrics"
)

// Cluster returns the hooks by which client-go counts its requests to a cluster's API.
func (a *Agent) Cluster() client.RegisterOpts {
	a.cluster.Store(true)
	short := []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30}
	long := append(short[:len(short):len(short)], 60)
	sizes := []float64{64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}
	took := latency{a.ofClient("request_duration_seconds", "Request latency in seconds. Broken down by verb, and host.",
		long, "verb", "host")}
	waited := latency{a.ofClient("rate_limiter_duration_seconds",
		"Client side rate limiter latency in seconds. Broken down by verb, and host.", long, "verb", "host")}
	resolved := resolution{a.ofClient("dns_resolution_duration_seconds",
		"DNS resolver latency in seconds. Broken down by host.", short, "host")}
	sent := size{a.ofClient("request_size_bytes", "Request size in bytes. Broken down by verb and host.", sizes, "verb",
		"host")}
	got := size{a.ofClient("response_size_bytes", "Response size in bytes. Broken down by verb and host.", sizes, "verb",
		"host")}
	results := results{a.countClient("requests_total",
		"Number of HTTP requests, partitioned by status code, method, and host.", "code", "method", "host")}
	retries := retries{a.countClient("request_retries_total",
		"Number of request retries, partitioned by status code, verb, and host.", "code", "verb", "host")}
	kept := entries{prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "rest_client_transport_cache_entries", Help: alpha + "Number of transport entries in the internal cache.",
	})}
	made := transports{a.countClient("transport_create_calls_total",
		"Number of calls to get a new transport, partitioned by the result of the operation "+
			"hit: obtained from the cache, miss: created and added to the cache, miss-gc: recreated and added back to the cache after being garbage collected, "+
			"uncacheable: created and not cached", "result")}
	a.registry.MustRegister(kept.gauge)
	opts := client.RegisterOpts{
		RequestLatency: took, RateLimiterLatency: waited, ResolverLatency: resolved, RequestSize: sent, ResponseSize: got,
		RequestResult: results, RequestRetry: retries, TransportCacheEntries: kept, TransportCreateCalls: made,
	}
	a.plugins(&opts)
	return opts
}

// plugins counts the calls of programs that a kubeconfig names for credentials.
func (a *Agent) plugins(opts *client.RegisterOpts) {
	expires := &expiry{}
	lived := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "rest_client_exec_plugin_certificate_rotation_age",
		Help: alpha +
			"Histogram of the number of seconds the last auth exec plugin client certificate lived before being rotated. " +
			"If auth exec plugin client certificates are unused, histogram will contain no data.",
		Buckets: []float64{600, 1800, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000},
	})
	a.registry.MustRegister(lived, left("rest_client_exec_plugin_ttl_seconds",
		"Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by "+
			"the auth exec plugin. The value is in seconds until certificate expiry (negative if already expired). If auth exec plugins are unused or manage no "+
			"TLS certificates, the value will be +INF.", expires.get))
	opts.ClientCertExpiry, opts.ClientCertRotationAge = expires, age{lived}
	opts.ExecPluginCalls = calls{a.countClient("exec_plugin_call_total",
		"Number of calls to an exec plugin, partitioned by the type of event encountered "+
			"(no_error, plugin_execution_error, plugin_not_found_error, client_internal_error) and an optional exit code. The exit code will be set to 0 if and only "+
			"if the plugin call was successful.", "code", "call_status")}
}

func (a *Agent) ofClient(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	opts := prometheus.HistogramOpts{Name: "rest_client_" + name, Help: alpha + help, Buckets: buckets}
	h := prometheus.NewHistogramVec(opts, labels)
	a.registry.MustRegister(h)
	return h
}

func (a *Agent) countClient(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rest_client_" + name, Help: alpha + help}, labels)
	a.registry.MustRegister(c)
	return c
}

// The types below adapt client-go's hooks to one metric each.

type latency struct{ of *prometheus.HistogramVec }

func (l latency) Observe(_ context.Context, verb string, u url.URL, took time.Duration) {
	l.of.WithLabelValues(verb, u.Host).Observe(took.Seconds())
}

type resolution struct{ of *prometheus.HistogramVec }

func (r resolution) Observe(_ context.Context, host string, took time.Duration) {
	r.of.WithLabelValues(host).Observe(took.Seconds())
}

type size struct{ of *prometheus.HistogramVec }

func (s size) Observe(_ context.Context, verb, host string, bytes float64) {
	s.of.WithLabelValues(verb, host).Observe(bytes)
}

type results struct{ of *prometheus.CounterVec }

func (r results) Increment(_ context.Context, code, method, host string) {
	r.of.WithLabelValues(code, method, host).Inc()
}

type retries struct{ of *prometheus.CounterVec }

func (r retries) IncrementRetry(_ context.Context, code, verb, host string) {
	r.of.WithLabelValues(code, verb, host).Inc()
}

type calls struct{ of *prometheus.CounterVec }

func (c calls) Increment(code int, status string) {
	c.of.WithLabelValues(strconv.Itoa(code), status).Inc()
}

type entries struct{ gauge prometheus.Gauge }

func (e entries) Observe(count int) { e.gauge.Set(float64(count)) }

type transports struct{ of *prometheus.CounterVec }

func (t transports) Increment(result string) { t.of.WithLabelValues(result).Inc() }

type age struct{ of prometheus.Histogram }

func (a age) Observe(lived time.Duration) { a.of.Observe(lived.Seconds()) }

// expiry holds the end of a certificate, or nil before it is known.
type expiry struct{ at atomic.Pointer[time.Time] }

func (e *expiry) Set(at *time.Time) { e.at.Store(at) }

func (e *expiry) get() time.Time {
	if at := e.at.Load(); at != nil {
		return *at
	}
	return time.Time{}
}
