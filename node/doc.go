// Package node is the vocabulary of Nodal: what is desired of a pod, what was
// observed of it, what can be done about it, and the store where those facts
// meet. It does no I/O, owns no goroutine and reads no clock.
//
//	sources, API ──Transact──▶ Store ◀──Observe── reconciler
//	                            │ revision, Changed
//	            watchers ◀──────┴──────▶ reconciler
//
// Each fact has one owner. A Slot (the durable side: which pod owns a name, its
// deletion, its restart tallies, its final result) is written by Transact and
// journalled before anybody sees it. An Observed (the fleeting side: sandboxes,
// containers, images, faults) is written by the reconciler alone and lost with
// the process, because the runtime can be asked again.
//
// Start reading at Slot in pod.go, Observed in observed.go, Action in action.go
// and Store in store.go.
package node
