// Package stats measures what the node and its pods use, in the terms of the kubelet's
// Summary API and of cAdvisor.
//
//	Collector.Usage ───── the kernel ───────────── processors and memory: of the node, and of
//	    │                     │                    pods and containers by their cgroups
//	    │                 the container runtime ── of pods that have no cgroup here
//	Collector.Summary ─┬─ the same
//	    │              ├─ the kernel ───────────── networks, processes, pressure
//	    │              ├─ file systems ─────────── the node's own, that of images, pods' volumes and logs
//	    │              └─ the container runtime ── what containers wrote, where images lie
//	Collector.Cgroups ─── the same, with limits and open files of processes
//	Collector.Signals ─── the resources of the node that may run short
//	Collector.PodMemory, PodTasks ── what pods use of them now, by their cgroups
//	Collector.Claims ──── the usage of the volumes of claims
//	Sampler.Sample ────── a few figures, for the history that is always recorded
//
// A Collector collects only on request. Concurrent requests share one collection, and
// so do requests within its short lifetime. The parts of a collection are read side by
// side, and each has a time limit. Figures of a part that fails are missing from the
// summary, and the error names them.
//
// Opening files of cgroups costs most. So the files of the most requested figures stay
// open while requests come, and each kind of collection reads only its own figures.
//
//	collector.go     one collection for all requests
//	shared.go        how they share it
//	part.go          how its parts are waited for
//	kernel_pods.go   pods by their cgroups
//	tree.go          the cgroups, and their files that stay open
//	group.go         the counters of one cgroup, in version 1 (group_first.go) and 2 (group_second.go)
//	group_disks.go   and its disk counters
//	reader.go        reads and parses the kernel's files
//	pods.go          pods that the runtime counts for
//	layers.go        writable layers of containers
//	pod_disk.go      pods' volumes and logs, walked once a minute
//	claims.go        of them the volumes of claims
//	machine.go       the kernel's figures of the node
//	network.go       and of interfaces
//	disk.go          usage of file systems
//	signals.go       what is left of the node's resources
//	pod_use.go       what pods use of memory and processes now, for an eviction
//	history.go       the last quarter of an hour, and rates
//	sampler.go       what is read always, from files that stay open (sampler_files.go)
//	cadvisor.go      cgroups in cAdvisor's terms
//	cadvisor_pods.go pods whose figures the runtime has, in the same terms
//	machine_info.go  and the machine
//
// Start reading at Collector.Usage.
package stats
