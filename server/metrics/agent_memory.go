package metrics

import "github.com/prometheus/client_golang/prometheus"

// kept shows how much memory the kernel keeps for pods.
type kept struct {
	read      func() (guaranteed, soft int64)
	min, soft *prometheus.Desc
}

var _ prometheus.Collector = kept{}

// Keeps registers how much memory the kernel keeps for guaranteed pods, and for burstable pods as long as it can.
func (a *Agent) Keeps(read func() (guaranteed, soft int64)) {
	a.registry.MustRegister(kept{
		read: read,
		min:  describe("memory_qos_node_memory_min_bytes", "Total cgroup v2 memory.min in bytes for Guaranteed pods"),
		soft: describe("memory_qos_node_memory_low_bytes", "Total cgroup v2 memory.low in bytes for Burstable pods"),
	})
}

// Describe sends the families.
func (k kept) Describe(to chan<- *prometheus.Desc) {
	to <- k.min
	to <- k.soft
}

// Collect reads the figures.
func (k kept) Collect(to chan<- prometheus.Metric) {
	guaranteed, soft := k.read()
	to <- prometheus.MustNewConstMetric(k.min, prometheus.GaugeValue, float64(guaranteed))
	to <- prometheus.MustNewConstMetric(k.soft, prometheus.GaugeValue, float64(soft))
}
