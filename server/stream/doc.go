// Package stream speaks the protocols by which Kubernetes' clients talk to a
// command that runs: several channels over one connection that was upgraded
// from HTTP.
//
//	WebSocket v5, v4 ── browsers, kubectl ──┐
//	SPDY v4 to v1 ───── API servers ────────┴─ Exec ─ Command
//
// It knows nothing of pods, and of who may do what: a Command runs whatever it
// was made for, and whoever routes here has settled the rest.
//
// Start reading at Exec.
package stream
