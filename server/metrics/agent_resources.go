package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// resourceCounts counts the requests to upstream's socket of pod resources, by method.
type resourceCounts struct {
	total         prometheus.Counter
	asked, failed map[string]prometheus.Counter
}

func newResourceCounts() resourceCounts {
	family := func(name, help string) prometheus.Counter {
		return counterVec("pod_resources_endpoint_"+name, help+". Broken down by server api version.", "server_api_version").
			WithLabelValues("v1")
	}
	c := resourceCounts{
		total: family("requests_total", "Cumulative number of requests to the PodResource endpoint"),
		asked: map[string]prometheus.Counter{}, failed: map[string]prometheus.Counter{},
	}
	for method, name := range map[string]string{
		"List": "list", "Get": "get", "GetAllocatableResources": "get_allocatable",
	} {
		c.asked[method] = family("requests_"+name, "Number of requests to the PodResource "+method+" endpoint")
		c.failed[method] = family("errors_"+name, "Number of requests to the PodResource "+method+" endpoint which returned error")
	}
	return c
}

func (c resourceCounts) all() []prometheus.Collector {
	all := []prometheus.Collector{c.total}
	for method := range c.asked {
		all = append(all, c.asked[method], c.failed[method])
	}
	return all
}

// CountResources counts a request to the socket of pod resources. method is the last part of its name.
func (a *Agent) CountResources(method string, failed bool) {
	asked, known := a.resources.asked[method]
	if !known { // a client may call reflection on the same socket
		return
	}
	a.resources.total.Inc()
	asked.Inc()
	if failed {
		a.resources.failed[method].Inc()
	}
}
