// Package state restores the node's store from its journal, and its events.
//
//	files --> host/journal --> host/vault, which opens sealed Secrets --> node/store
//	file <--> host/eventfile <--> the store's events, which are kept a moment after they happen
//
// Start reading at Open in state.go.
package state
