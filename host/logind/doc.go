// Package logind hears from systemd-logind that the machine shuts down, and delays that until the node's pods have
// ended.
//
//	connect ─▶ watch PrepareForShutdown ─▶ raise the delay ─▶ take the lock ─▶ is one under way?
//	   ▲                                                                          │
//	   └──────────── the bus is gone: again after a pause ◀───── signals ─────────┘
//
// A lock is a file descriptor: logind waits as long as it is open, up to InhibitDelayMaxUSec. It outlives a connection
// that breaks, so there is always one open while the machine may shut down, but for the moment in which a new agent
// connects. What logind does not support, as imitations of it may not, is done without.
//
// Start reading at Watcher.Run.
package logind
