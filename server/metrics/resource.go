package metrics

import (
	"time"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// usage holds the families for the usage of the node, of pods or of containers.
type usage struct{ cpu, memory, swap *family }

func usageOf(what string, labels ...string) usage {
	return usage{
		cpu: &family{
			name: what + "_cpu_usage_seconds_total", kind: counter, labels: labels,
			help: "[STABLE] Cumulative cpu time consumed by the " + what + " in core-seconds",
		},
		memory: &family{
			name: what + "_memory_working_set_bytes", kind: gauge, labels: labels,
			help: "[STABLE] Current working set of the " + what + " in bytes",
		},
		swap: &family{
			name: what + "_swap_usage_bytes", kind: gauge, labels: labels,
			help: "[ALPHA] Current amount of the " + what + " swap usage in bytes. Reported only on non-windows systems",
		},
	}
}

// add appends the figures that are known.
func (u usage) add(cpu *statsapi.CPUStats, memory *statsapi.MemoryStats, swap *statsapi.SwapStats, labels ...string) {
	if cpu != nil && cpu.UsageCoreNanoSeconds != nil {
		u.cpu.add(float64(*cpu.UsageCoreNanoSeconds)/float64(time.Second), cpu.Time.Time, labels...)
	}
	if memory != nil && memory.WorkingSetBytes != nil {
		u.memory.add(float64(*memory.WorkingSetBytes), memory.Time.Time, labels...)
	}
	if swap != nil && swap.SwapUsageBytes != nil {
		u.swap.add(float64(*swap.SwapUsageBytes), swap.Time.Time, labels...)
	}
}

// Resource writes the body of /metrics/resource, which metrics-server reads. whole reports that
// the summary lacks nothing.
func Resource(summary *statsapi.Summary, whole bool) []byte {
	inContainer := []string{"container", "pod", "namespace"}
	node, pods, containers := usageOf("node"), usageOf("pod", "pod", "namespace"), usageOf("container", inContainer...)
	node.swap.help = "[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems"
	started := &family{
		name: "container_start_time_seconds", kind: gauge, labels: inContainer,
		help: "[STABLE] Start time of the container since unix epoch in seconds",
	}
	limit := &family{
		name: "container_swap_limit_bytes", kind: gauge, labels: inContainer,
		help: "[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems",
	}
	failed := &family{
		name: "resource_scrape_error", kind: gauge,
		help: "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise",
	}
	if whole {
		failed.add(0, time.Time{})
	} else {
		failed.add(1, time.Time{})
	}
	node.add(summary.Node.CPU, summary.Node.Memory, summary.Node.Swap)
	for _, p := range summary.Pods {
		pods.add(p.CPU, p.Memory, p.Swap, p.PodRef.Name, p.PodRef.Namespace)
		for _, c := range p.Containers {
			labels := []string{c.Name, p.PodRef.Name, p.PodRef.Namespace}
			containers.add(c.CPU, c.Memory, c.Swap, labels...)
			if c.StartTime.Unix() > 0 {
				started.add(float64(c.StartTime.UnixNano())/float64(time.Second), time.Time{}, labels...)
			}
			if s := c.Swap; s != nil && s.SwapAvailableBytes != nil {
				used := uint64(0)
				if s.SwapUsageBytes != nil {
					used = *s.SwapUsageBytes
				}
				limit.add(float64(*s.SwapAvailableBytes+used), s.Time.Time, labels...)
			}
		}
	}
	return text(node.cpu, node.memory, node.swap, pods.cpu, pods.memory, pods.swap,
		containers.cpu, containers.memory, containers.swap, started, limit, failed)
}
