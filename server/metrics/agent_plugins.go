package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"nodal/node"
)

// plugins counts the sockets of plugins.
type plugins struct {
	list  func() []node.Plugin
	place func(name string) string
	total *prometheus.Desc
}

var _ prometheus.Collector = plugins{}

// Plugins registers the sockets of plugins, read at each scrape. place returns the path of one.
func (a *Agent) Plugins(list func() []node.Plugin, place func(name string) string) {
	a.registry.MustRegister(plugins{list, place, prometheus.NewDesc("plugin_manager_total_plugins",
		alpha+"Number of plugins in Plugin Manager", []string{"socket_path", "state"}, nil)})
}

// Describe sends the family.
func (p plugins) Describe(to chan<- *prometheus.Desc) { to <- p.total }

// Collect counts the sockets that are there, and those whose plugins are registered.
func (p plugins) Collect(to chan<- prometheus.Metric) {
	type of struct{ path, state string }
	counts := map[of]int{}
	for _, plugin := range p.list() {
		path := p.place(plugin.Socket.Name)
		if !plugin.Gone {
			counts[of{path, "desired_state_of_world"}]++
		}
		if plugin.Answer != nil && plugin.Answer.Registered {
			counts[of{path, "actual_state_of_world"}]++
		}
	}
	for of, n := range counts {
		to <- prometheus.MustNewConstMetric(p.total, prometheus.GaugeValue, float64(n), of.path, of.state)
	}
}
