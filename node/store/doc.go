// Package store is where the facts of a node meet, under one revision that only
// grows.
//
//	sources, API ──Transact──▶ Store ◀──Observe── reconciler
//	                            │ revision, Changed
//	            watchers ◀──────┴──────▶ reconciler
//
//	store.go        pods: what was journalled is published; observations are published
//	transaction.go  what is put in one go, and is journalled first
//	record.go       slots and objects as the journal keeps them, for agents older and newer
//	locked.go       objects whose records cannot be read now
//	object.go       what pods use, in the same transactions
//	history.go      the latest state of each, by revision, and the latest deletions
//	waiting.go      pods that wait for what others give back
//	adopt.go        pods that run without a record
//	clock.go        the revision, which survives restarts
//	journal.go      what the store needs of a disk
//	events.go       the latest events, node-wide and for each pod
//	sources.go      how each source of pods is
//
// Readers get snapshots that never change, and wait on Changed. There is no queue: a
// reader that is slow sees the latest state, and is a brake on nothing.
//
// Records are a contract with the agents before this one and after it:
// docs/decisions/0026-records-are-a-contract.md. testdata/records has one of each kind and
// version, with every field. A field that is new joins the newest by
//
//	go test ./node/store -update
//
// Start reading at Store in store.go and Transact in transaction.go.
package store
