// Package stats says what the node and its pods use, in the words of the kubelet's
// Summary API and of cAdvisor.
//
//	Collector.Usage ───── the kernel ───────────── processors and memory: of the node, and of
//	    │                     │                    pods and containers by their cgroups
//	    │                 the container runtime ── of pods that have no cgroup here
//	Collector.Summary ─┬─ the same
//	    │              ├─ the kernel ───────────── networks, processes, pressure
//	    │              ├─ file systems ─────────── the node's own, that of images, pods' volumes and logs
//	    │              └─ the container runtime ── what containers wrote, where images lie
//	Collector.Cgroups ─── the same, with limits and what processes have open
//	Collector.Signals ─── what the node may run short of, and no pod
//	Collector.Claims ──── how full the volumes of claims are
//
// Nothing is collected while nobody asks. Those who ask at the same time share one
// collection, and so do those who ask within its short age. The parts of it are read
// side by side and nobody waits for long: what one cannot tell is missing from the
// summary, with an error beside it, and the other figures are there.
//
// What costs is opening files of cgroups. So those with figures that everybody asks for
// stay open for as long as somebody asks, and every kind of collection reads no more
// than it shows.
//
//	collector.go     one collection for all who ask
//	shared.go        how they share it
//	part.go          how its parts are waited for
//	kernel_pods.go   pods by their cgroups
//	tree.go          the cgroups, and their files that stay open
//	group.go         what one of them counts, in version 1 (group_first.go) and 2 (group_second.go)
//	group_disks.go   and of disks
//	reader.go        the kernel's files and what they say
//	pods.go          pods that the runtime counts for
//	layers.go        what containers wrote
//	pod_disk.go      pods' volumes and logs, walked once a minute
//	claims.go        of them the volumes of claims
//	machine.go       what the kernel tells of the node
//	network.go       and of interfaces
//	disk.go          how full file systems are
//	signals.go       what is left
//	history.go       the last quarter of an hour, and what grew since the figures before
//	cadvisor.go      cgroups in cAdvisor's words
//	cadvisor_told.go and pods that the runtime counts for
//	machine_info.go  and the machine
//
// Start reading at Collector.Usage.
package stats
