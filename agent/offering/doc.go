// Package offering owns the node's offer (node/offer), and posts it again when the machine has changed.
//
//	a CPU comes or goes (host/uevent) ─┐
//	a plugin lists its devices ────────┤
//	every ten seconds ─────────────────┴─▶ look ─▶ other Facts? ─▶ Terms.Offer ─▶ Board.Post
//
// CPUs, memory, swap and huge pages may change while the agent runs. The file system of pods keeps the size that it has
// at the start: some file systems report their free space as a part of their size. Settings may change too: Owner.Change.
//
// Of a machine that shrinks, the reserved resources are taken off first, and pods are offered the rest, or nothing.
// Running pods keep all that they were promised: a container keeps CPUs of its own that went offline, and no other
// container gets them. Two things are decided at the start and stay, because promises rest on them: which CPUs are
// reserved, and how much memory of each NUMA node is for pods.
//
// The devices of plugins come from their board (node/store.Devices), which wakes Owner.Run. The capacity counts all of
// them, and pods are offered the healthy ones. A new source of resources is one more part of Facts.
//
// Start reading at Owner.
package offering
