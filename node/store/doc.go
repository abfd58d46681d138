// Package store is where the facts of a node meet, under one revision that only
// grows.
//
//	sources, API ──Transact──▶ Store ◀──Observe── reconciler
//	                            │ revision, Changed
//	            watchers ◀──────┴──────▶ reconciler
//
//	store.go    pods: slots are journalled, then published; observations are published
//	object.go   what pods use, in the same transactions
//	waiting.go  pods that wait for what others give back
//	adopt.go    pods that run without a record
//	clock.go    the revision, which survives restarts
//	journal.go  what the store needs of a disk
//	events.go   the latest events, node-wide and for each pod
//	sources.go  how each source of pods is
//
// Readers get snapshots that never change, and wait on Changed. There is no queue: a
// reader that is slow sees the latest state, and is a brake on nothing.
//
// Start reading at Store and Transact in store.go.
package store
