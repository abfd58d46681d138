// Package stats says what the node and its pods use, in the words of the kubelet's
// Summary API.
//
//	Collector.Summary ─┬─ the container runtime ── pods, containers, where images lie
//	                   ├─ the kernel ───────────── the node's processor, memory, network, processes
//	                   └─ file systems ─────────── the node's own and that of images
//
// Nothing is collected while nobody asks. Those who ask at the same time share one
// collection, and so do those who ask within its short age. The parts of it are read
// side by side and nobody waits for long: what one cannot tell is missing from the
// summary, with an error beside it, and the other figures are there.
//
//	collector.go   one collection for all who ask
//	pods.go        what the runtime tells
//	machine.go     what the kernel tells of the node
//	network.go     and of its interfaces
//	disk.go        how full file systems are
//	history.go     the last quarter of an hour, and what grew since the figures before
//
// Start reading at Collector.Summary.
package stats
