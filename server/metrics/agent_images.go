package metrics

import (
	"cmp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
)

// imageCounts counts the images that pods need, and how their credentials were found.
type imageCounts struct {
	pulls, pluginTook    *prometheus.HistogramVec
	asked, pluginsFailed *prometheus.CounterVec
	plugins              *prometheus.GaugeVec
}

func newImageCounts() imageCounts {
	return imageCounts{
		pulls: histogramVec("image_pull_duration_seconds", "Duration in seconds to pull an image.", pullBounds, "image_size_in_bytes"),
		asked: counterVec("image_manager_ensure_image_requests_total", "Number of ensure-image requests processed by the kubelet.",
			"pull_policy", "present_locally", "pull_required"),
		plugins: gaugeVec("credential_provider_config_info",
			"Information about the last applied credential provider configuration with hash as label", "hash"),
		pluginTook: histogramVec("credential_provider_plugin_duration",
			"Duration of execution in seconds for credential provider plugin", prometheus.DefBuckets, "plugin_name"),
		pluginsFailed: counterVec("credential_provider_plugin_errors_total",
			"Number of errors from credential provider plugin", "plugin_name"),
	}
}

func (c imageCounts) all() []prometheus.Collector {
	return []prometheus.Collector{c.pulls, c.asked, c.plugins, c.pluginTook, c.pluginsFailed}
}

// pullBounds are the bounds of durations of pulls, in seconds.
var pullBounds = []float64{1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600}

// Pulled counts a pull that has succeeded, with the time that its pod has waited.
func (a *Agent) Pulled(bytes int64, waited time.Duration) {
	a.images.pulls.WithLabelValues(sizeOf(bytes)).Observe(waited.Seconds())
}

// AskedImage counts an image that a pod needs. present says whether it is there, and pull whether it has to be pulled:
// true, false, or empty if that did not come up.
func (a *Agent) AskedImage(policy corev1.PullPolicy, present, pull string) {
	a.images.asked.WithLabelValues(strings.ToLower(string(policy)), cmp.Or(present, "unknown"), cmp.Or(pull, "unknown")).Inc()
}

// HasPlugins notes which configuration of credential providers is in force.
func (a *Agent) HasPlugins(hash string) { a.images.plugins.WithLabelValues(hash).Set(1) }

// AskedPlugin counts a run of a credential provider.
func (a *Agent) AskedPlugin(name string, took time.Duration, err error) {
	a.images.pluginTook.WithLabelValues(name).Observe(took.Seconds())
	if err != nil {
		a.images.pluginsFailed.WithLabelValues(name).Inc()
	}
}

// sizeOf returns the label for the size of an image. Kubernetes has its own classes, and no bytes beside them.
func sizeOf(bytes int64) string {
	const mega, giga = 1 << 20, 1 << 30
	classes := []struct {
		above int64
		label string
	}{
		{100 * giga, "GT100GB"}, {60 * giga, "60GB-100GB"}, {40 * giga, "40GB-60GB"}, {30 * giga, "30GB-40GB"}, {20 * giga, "20GB-30GB"},
		{10 * giga, "10GB-20GB"}, {5 * giga, "5GB-10GB"}, {giga, "1GB-5GB"}, {500 * mega, "500MB-1GB"}, {100 * mega, "100MB-500MB"},
		{10 * mega, "10MB-100MB"}, {0, "0-10MB"},
	}
	for _, class := range classes {
		if bytes > class.above {
			return class.label
		}
	}
	return "N/A" // it is not known
}
