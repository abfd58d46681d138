// Package offering writes the node's offer (node/offer), and writes it anew when the machine has changed.
//
//	a CPU comes or goes (host/uevent) ─┐
//	every ten seconds ─────────────────┴─▶ look ─▶ other Facts? ─▶ Terms.Offer ─▶ Board.Post
//
// CPUs, memory, swap and huge pages may change while the agent runs. The file system of pods counts with the size that
// it has at the start: some file systems call whatever is free a part of their size. Settings are read at the start.
//
// What is reserved of a machine that shrinks is taken off first, and pods are offered the rest, or nothing. Pods that
// run stay, with all that they were promised: a container keeps CPUs of its own that went offline, and no other
// container is given them. Which CPUs are reserved, and how much memory each NUMA node has for pods, is decided at the
// start for as long as the agent runs: promises were made by that.
//
// A new source of resources, such as devices, is one more part of Facts, and wakes Owner.Run.
//
// Start reading at Owner.
package offering
