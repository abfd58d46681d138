// Package metrics writes figures as text that Prometheus reads, under the names that
// dashboards and scrapers know from every kubelet.
//
//	text.go       families and samples as lines
//	resource.go   /metrics/resource, out of a summary of stats
//	probes.go     /metrics/probes, out of what probes have answered
//	agent.go      /metrics, about the agent itself
//	cadvisor.go   /metrics/cadvisor, out of figures of cgroups in cAdvisor's words
//
// It keeps nothing: counters are the kernel's and the runtime's. Start reading at
// Resource.
package metrics
