package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/store"
)

// volumeCounts counts volumes by the plugins that Kubernetes has for them.
type volumeCounts struct {
	took     *prometheus.HistogramVec
	measured *prometheus.HistogramVec
	total    *prometheus.Desc
	views    func() ([]store.View, int64)
	plugin   *func(pod *corev1.Pod, volume string) string
}

var _ prometheus.Collector = volumeCounts{}

func newVolumeCounts(views func() ([]store.View, int64)) volumeCounts {
	return volumeCounts{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "storage_operation_duration_seconds", Help: alpha + "Storage operation duration",
			Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600},
		}, []string{"volume_plugin", "operation_name", "status", "migrated"}),
		measured: histogramVec("volume_metric_collection_duration_seconds", "Duration in seconds to calculate volume stats",
			prometheus.DefBuckets, "metric_source"),
		total: prometheus.NewDesc("volume_manager_total_volumes", alpha+"Number of volumes in Volume Manager",
			[]string{"plugin_name", "state"}, nil),
		views: views, plugin: new(func(*corev1.Pod, string) string),
	}
}

// Volumes tells how to find the plugin of a volume: its name, or "" if it is not known.
func (a *Agent) Volumes(plugin func(pod *corev1.Pod, volume string) string) {
	*a.volumes.plugin = plugin
}

// Measured counts a walk through the files of a volume, or of a log.
func (a *Agent) Measured(took time.Duration) {
	a.volumes.measured.WithLabelValues("du").Observe(took.Seconds())
}

func (c volumeCounts) pluginOf(pod *node.Pod, volume string) string {
	if *c.plugin == nil {
		return ""
	}
	return (*c.plugin)(pod.Object, volume)
}

// did counts a volume that was laid out, or removed. It ignores one that is not bound to anything.
func (c volumeCounts) did(operation, plugin string, took time.Duration, err error) {
	if plugin == "" {
		return
	}
	status := "success"
	if err != nil {
		status = "fail-unknown"
	}
	c.took.WithLabelValues(plugin, operation, status, "false").Observe(took.Seconds())
}

// Describe sends the family that is counted at each scrape.
func (c volumeCounts) Describe(to chan<- *prometheus.Desc) { to <- c.total }

// Collect counts the volumes that pods want, and those that are there.
func (c volumeCounts) Collect(to chan<- prometheus.Metric) {
	type of struct{ plugin, state string }
	counts := map[of]int{}
	views, _ := c.views()
	for _, v := range views {
		if v.Gone || v.Slot == nil {
			continue
		}
		pod := v.Slot.Pod
		for i := range pod.Object.Spec.Volumes {
			name := pod.Object.Spec.Volumes[i].Name
			plugin := c.pluginOf(pod, name)
			if plugin == "" {
				continue
			}
			if v.Slot.Result == nil && pod.Deletion == nil && pod.Refused == nil {
				counts[of{plugin, "desired_state_of_world"}]++
			}
			if v.Got != nil && laid(v.Got, name) {
				counts[of{plugin, "actual_state_of_world"}]++
			}
		}
	}
	for of, n := range counts {
		to <- prometheus.MustNewConstMetric(c.total, prometheus.GaugeValue, float64(n), of.plugin, of.state)
	}
}

func laid(got *node.Observed, volume string) bool {
	_, there := got.Part(node.Volumes, volume)
	return there
}
