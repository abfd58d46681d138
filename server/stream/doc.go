// Package stream speaks the protocols of Kubernetes' clients for streams into a pod: several
// channels over one connection that was upgraded from HTTP.
//
//	WebSocket v5, v4 ── browsers, kubectl ──┐
//	SPDY v4 to v1 ───── API servers ────────┴─ Serve ─── Command
//
//	SPDY in a WebSocket ── kubectl ─────────┐
//	SPDY, WebSocket v4 ─── API servers ─────┴─ Forward ─ Forwarder
//
// It knows nothing of pods or of rights: a Command runs whatever it was made for, and the
// caller has checked the rest. A request that ends because its caller may no longer have it says so (revoked.go): to a
// WebSocket by the close code 1008 and a reason, to SPDY on the error stream.
//
// Start reading at Serve.
package stream
