package metrics

import (
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"nodal/node"
	"nodal/node/assign"
	"nodal/node/store"
)

// admitCounts counts the pods that are new to the node, and their requests for CPUs and memory.
type admitCounts struct {
	refused                                                     *prometheus.CounterVec
	perPod                                                      lasting
	strays                                                      prometheus.Counter
	cpus, cpusFailed, memory, memoryFailed, placed, placeFailed prometheus.Counter
}

func newAdmitCounts() admitCounts {
	return admitCounts{
		refused: counterVec("admission_rejections_total", "Cumulative number pod admission rejections by the Kubelet.",
			"reason"),
		perPod: histogramOf("containers_per_pod_count", "The number of containers per pod.",
			prometheus.ExponentialBuckets(1, 2, 5)),
		strays: count("orphaned_runtime_pods_total",
			"Number of pods that have been detected in the container runtime without being already known to the pod worker. "+
				"This typically indicates the kubelet was restarted while a pod was force deleted in the API or in the local configuration, which is unusual."),
		cpus: count("cpu_manager_pinning_requests_total",
			"The number of cpu core allocations which required pinning."),
		cpusFailed: count("cpu_manager_pinning_errors_total",
			"The number of cpu core allocations which required pinning failed."),
		memory: count("memory_manager_pinning_requests_total",
			"The number of memory pages allocations which required pinning."),
		memoryFailed: count("memory_manager_pinning_errors_total",
			"The number of memory pages allocations which required pinning that failed."),
		placed: count("topology_manager_admission_requests_total",
			"The number of admission requests where resources have to be aligned."),
		placeFailed: count("topology_manager_admission_errors_total",
			"The number of admission request failures where resources could not be aligned."),
	}
}

func (c admitCounts) all() []prometheus.Collector {
	return []prometheus.Collector{c.refused, c.perPod, c.strays, c.cpus, c.cpusFailed, c.memory, c.memoryFailed, c.placed,
		c.placeFailed}
}

// Taken counts a pod that is new to the node.
func (a *Agent) Taken(pod *node.Pod) {
	c := a.admitted
	if pod.Source == node.SourceRuntime {
		c.strays.Inc()
		return
	}
	if pod.Refused == nil {
		c.perPod.Observe(float64(len(pod.Object.Spec.Containers)))
	} else {
		c.refused.WithLabelValues(rejection(pod.Refused.Reason)).Inc()
	}
	for _, share := range pod.Shares {
		if share.CPUs != "" {
			c.cpus.Inc()
		}
		if share.Mems != "" {
			c.memory.Inc()
		}
	}
	if pod.Refused == nil {
		c.placed.Inc()
	} else {
		c.lacked(pod.Refused.Lack)
	}
}

// lacked counts a request that could not be met.
func (c admitCounts) lacked(lack node.Lack) {
	switch lack {
	case node.LackCPUs:
		c.cpus.Inc()
		c.cpusFailed.Inc()
	case node.LackMemory:
		c.memory.Inc()
		c.memoryFailed.Inc()
	case node.LackDevices:
	case node.LackPlace:
		c.placeFailed.Inc()
	default:
		return // the pod was refused before anything was assigned
	}
	c.placed.Inc()
}

// rejection returns Kubernetes' label for a refusal's reason.
func rejection(reason string) string {
	known := []string{
		"AppArmor", node.Evicted, "OutOfcpu", "OutOfephemeral-storage", "OutOfmemory", "OutOfpods", "SupplementalGroupsPolicyNotSupported",
		"SysctlForbidden", "TopologyAffinityError", "UnexpectedAdmissionError",
	}
	switch {
	case slices.Contains(known, reason):
		return reason
	case strings.HasPrefix(reason, "OutOf"):
		return "OutOfExtendedResources"
	}
	return "Other"
}

// assigned shows how the machine's CPUs are handed out now.
type assigned struct {
	rules           func() *assign.Rules
	views           func() ([]store.View, int64)
	own, free, node *prometheus.Desc
}

var _ prometheus.Collector = assigned{}

// Assigns registers how CPUs are handed out, by the rules in force at a scrape.
func (a *Agent) Assigns(rules func() *assign.Rules) {
	a.registry.MustRegister(assigned{
		rules: rules, views: a.views,
		own: describe("cpu_manager_exclusive_cpu_allocation_count",
			"The total number of CPUs exclusively allocated to containers running on this node"),
		free: describe("cpu_manager_shared_pool_size_millicores",
			"The size of the shared CPU pool for non-guaranteed QoS pods, in millicores."),
		node: describe("cpu_manager_allocation_per_numa", "Number of CPUs allocated per NUMA node", "numa_node"),
	})
}

// Describe sends the families.
func (s assigned) Describe(to chan<- *prometheus.Desc) {
	to <- s.own
	to <- s.free
	to <- s.node
}

// Collect adds up the CPUs that pods hold.
func (s assigned) Collect(to chan<- prometheus.Metric) {
	views, _ := s.views()
	var held []node.Shares
	for _, v := range views {
		if !v.Gone {
			held = append(held, v.Slot.Shares()...)
		}
	}
	use := s.rules().Use(held)
	to <- prometheus.MustNewConstMetric(s.own, prometheus.GaugeValue, float64(use.Own))
	to <- prometheus.MustNewConstMetric(s.free, prometheus.GaugeValue, float64(1000*use.Free))
	for id, cpus := range use.Nodes {
		to <- prometheus.MustNewConstMetric(s.node, prometheus.GaugeValue, float64(cpus), strconv.Itoa(id))
	}
}
