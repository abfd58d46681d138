package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// deviceCounts counts what device plugins do.
type deviceCounts struct {
	registered *prometheus.CounterVec
	took       *prometheus.HistogramVec
}

func newDeviceCounts() deviceCounts {
	return deviceCounts{
		registered: counterVec("device_plugin_registration_total",
			"Cumulative number of device plugin registrations. Broken down by resource name.", "resource_name"),
		took: histogramVec("device_plugin_alloc_duration_seconds",
			"Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.",
			prometheus.DefBuckets, "resource_name"),
	}
}

// DevicesRegistered counts a registration of a device plugin.
func (a *Agent) DevicesRegistered(resource string) {
	a.devices.registered.WithLabelValues(resource).Inc()
}

// DevicesAllocated counts an answer of a device plugin to Allocate.
func (a *Agent) DevicesAllocated(resource string, took time.Duration) {
	a.devices.took.WithLabelValues(resource).Observe(took.Seconds())
}
