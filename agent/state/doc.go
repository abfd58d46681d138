// Package state opens the node's memory.
//
//	files --> host/journal --> host/vault, which opens sealed Secrets --> node/store
//
// Start reading at Open in state.go.
package state
