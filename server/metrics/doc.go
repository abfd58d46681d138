// Package metrics writes figures as text that Prometheus reads, under the names that
// dashboards and scrapers know from every kubelet.
//
//	text.go       families and samples as lines
//	resource.go   /metrics/resource, out of a summary of stats
//	probes.go     /metrics/probes, out of what probes have answered
//	cadvisor.go   /metrics/cadvisor, out of figures of cgroups in cAdvisor's words:
//	  cadvisor_figures.go    the families
//	  cadvisor_pressure.go   those of pressure
//	agent.go      /metrics, about the agent itself:
//	  agent_admit.go         what pods ask for as they come in, and how CPUs are handed out
//	  agent_pods.go          pods that start and that are there
//	  agent_start.go         how long they took
//	  agent_work.go          what is done for them, and the touch with the runtime
//	  agent_claims.go        how full their claims' volumes are
//	  agent_certificates.go  when the node's own certificates run out
//	  agent_cluster.go       requests to a cluster's API
//
// It keeps no figures of pods' usage: those counters are the kernel's and the runtime's.
// The agent's own work is counted where it happens. docs/METRICS.md says which of
// upstream's metrics there are. Start reading at Resource.
package metrics
