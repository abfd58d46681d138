// Package metrics writes figures as text that Prometheus reads, under the names that
// dashboards and scrapers know from every kubelet.
//
//	text.go       families and samples as lines
//	resource.go   /metrics/resource, out of a summary of stats
//	probes.go     /metrics/probes, out of the results of probes
//	cadvisor.go   /metrics/cadvisor, out of figures of cgroups in cAdvisor's words:
//	  cadvisor_figures.go    the families
//	  cadvisor_pressure.go   those of pressure
//	slis.go       /metrics/slis, out of the results of health checks
//	agent.go      /metrics, about the agent itself:
//	  agent_admit.go         new pods and their requests, and how CPUs are handed out
//	  agent_pods.go          pods that start, and present pods
//	  agent_start.go         how long they took
//	  agent_images.go        images that pods need, their pulls and credentials
//	  agent_actions.go       what was done for pods
//	  agent_volumes.go       their volumes, by plugins
//	  agent_resizes.go       changes of their resources
//	  agent_plugins.go       sockets of plugins
//	  agent_work.go          the work for pods, and the contact with the runtime
//	  agent_claims.go        how full their claims' volumes are
//	  agent_certificates.go  when the node's own certificates expire
//	  agent_cluster.go       requests to a cluster's API
//
// It keeps no figures of pods' usage: those counters are the kernel's and the runtime's. The
// agent's parts count their own work by calling Agent. docs/METRICS.md lists upstream's
// metrics and which of them this node has.
//
// Start reading at Resource in resource.go.
package metrics
