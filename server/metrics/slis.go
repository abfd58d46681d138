package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// HealthChecks counts the results of health checks. Its methods may be called from any goroutine.
type HealthChecks struct {
	registry *prometheus.Registry
	last     *prometheus.GaugeVec
	total    *prometheus.CounterVec
}

// NewHealthChecks returns zero counts.
func NewHealthChecks() *HealthChecks {
	h := &HealthChecks{
		registry: prometheus.NewRegistry(),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubernetes_healthcheck",
			Help: "[STABLE] This metric records the result of a single healthcheck."}, []string{"name", "type"}),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "kubernetes_healthchecks_total",
			Help: "[STABLE] This metric records the results of all healthcheck."}, []string{"name", "type", "status"}),
	}
	h.registry.MustRegister(h.last, h.total)
	return h
}

// Checked counts a result of a check of /healthz.
func (h *HealthChecks) Checked(name string, err error) {
	value, status := 1.0, "success"
	if err != nil {
		value, status = 0, "error"
	}
	h.last.WithLabelValues(name, "healthz").Set(value)
	h.total.WithLabelValues(name, "healthz", status).Inc()
}

// ServeHTTP answers /metrics/slis.
func (h *HealthChecks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(h.registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}
