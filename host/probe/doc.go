// Package probe runs the startup, readiness and liveness probes of all pods of the
// node. It also runs their hooks, over the same connections.
//
//	decide.Probes ──Set──▶ inquiry ──timer──▶ ask: http.go tcp.go grpc.go exec.go
//	                          ▲                 │ answer
//	                          └── streak.go ◀───┘
//	                                 │ threshold reached and news
//	                        Results ◀┘
//
// The package does not decide which probes run: a liveness probe that waits for the
// startup probe is simply not Set before. A probe that is Set again keeps its timetable
// and its count. An answer that changes nothing is not delivered, so a node of healthy
// pods is quiet however often they are asked.
//
// # Time
//
// A waiting probe is a timer of the Go runtime, which keeps them in a heap;
// only a question under way has a goroutine. A probe is due a whole number of
// periods after it was due first, however long answers take. After a start of the agent
// the first questions are spread over a period, or they would all come at once.
//
// # What counts
//
// An answer is a success, a failure, or none: a runtime that is away, a command
// that cannot be started or a port that does not exist say nothing about the
// container. Failures become events: a handful at once, and then one a minute with the
// number of the others. So a broken pod neither floods the events nor wakes the node's
// watchers every second.
//
// # Where a probe may go
//
// To the pod, or to the host that the manifest names. Whatever a name resolves to or a
// server redirects to, address.go refuses link-local and metadata addresses, and those
// of the machine unless the pod is on the host's network. Redirects lead
// to the same host only. No proxy is asked. Connections are not kept and end with a
// reset: thousands of them in TIME_WAIT would exhaust ports and connection tracking.
//
// # Hooks
//
// Run in hook.go runs one to its end: the call lasts as long as the hook does. An
// answer over HTTP is a success whatever it says, as in Kubernetes. The output of a hook is
// discarded.
//
// Start reading at Prober.Set, then ask.
package probe
