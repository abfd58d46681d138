// Package stats says what the node and its pods use, in the words of the kubelet's
// Summary API and of cAdvisor.
//
//	Collector.Summary ─┬─ the kernel ───────────── pods and containers, by their cgroups; the
//	                   │                           node's processors, memory, network, processes
//	                   ├─ file systems ─────────── the node's own and that of images
//	                   └─ the container runtime ── what containers wrote, where images lie, and
//	                                               pods that have no cgroup here
//	Collector.Cgroups ─── the same, with limits and what processes have open
//
// Nothing is collected while nobody asks. Those who ask at the same time share one
// collection, and so do those who ask within its short age. The parts of it are read
// side by side and nobody waits for long: what one cannot tell is missing from the
// summary, with an error beside it, and the other figures are there.
//
//	collector.go     one collection for all who ask
//	shared.go        how they share it
//	kernel_pods.go   pods by their cgroups
//	group.go         one cgroup, in version 1 and 2
//	pods.go          pods that the runtime counts for
//	layers.go        what containers wrote
//	machine.go       what the kernel tells of the node
//	network.go       and of interfaces
//	disk.go          how full file systems are
//	history.go       the last quarter of an hour, and what grew since the figures before
//	cadvisor.go      cgroups in cAdvisor's words
//	machine_info.go  and the machine
//
// Start reading at Collector.Summary.
package stats
