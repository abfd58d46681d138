// Package state restores the node's store from its journal.
//
//	files --> host/journal --> host/vault, which opens sealed Secrets --> node/store
//
// Start reading at Open in state.go.
package state
