// Package node is the vocabulary of Nodal: what is desired of a pod, what was
// observed of it, and what can be done about it. It does no I/O, owns no
// goroutine and reads no clock. The facts meet in package store, beside it.
//
// Each fact has one owner. A Slot (the durable side: which pod owns a name, its
// deletion, its restart tallies, its final result) is written in a transaction of
// the store and journalled before a reader sees it. An Observed (the fleeting side:
// sandboxes, containers, images, faults) is written by the reconciler alone and lost
// with the process, because the runtime can be asked again.
//
// Beside pods the node takes objects that pods use. The table in kind.go lists their
// kinds; manifests, records, the API and the dashboard follow it.
//
// Start reading at Slot in pod.go, Observed in observed.go and Action in action.go.
package node
