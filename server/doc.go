// Package server turns requests into calls of the intake and the store, and what it reads
// there into answers. It holds no pod logic and opens no listener.
//
//	gRPC ──────────────────────┐
//	/api ── kube ──┐           │
//	/v1 ─── rest ──┴─ inproc ──┴─▶ rights ─▶ errors ─▶ trace ─▶ services ─┐
//	/pods, /exec ... ─▶ rights ─▶ kubeletapi ─────────────────────────────┤
//	                                           intake ◀── change ─────────┤
//	                                           store  ◀── read, watch ────┘
//
// The rooms below it, which do not know it:
//
//	rest        the API's methods over HTTP        kubeletapi  the kubelet's own paths
//	runs        which run a request is about       stream      framing of exec and attach
//	method      what the protos say of a method    inproc      a connection without a wire
//	auth        who calls, and with which right    listen      connections, before any request
//	wire        bodies, answers and error codes    trace       requests as parts of traces
//	metrics     counts as Prometheus reads them    dashboard   the page and its sessions
//	audit       which callers did what             kube        the Kubernetes API, for kubectl
//
// Here are the services, one in a file: manifests.go, pods.go, logs.go, exec.go, events.go,
// images.go, stats.go, node_info.go, audit_entries.go. objects_any.go serves every kind of the table
// node.Kinds. Kinds that are older than it have a service each, all on objects_typed.go.
// render.go shows pods to clients; viewers do not see the values in environments
// (render_viewer.go). testdata/routes.txt is the whole table of routes, for people to review.
//
// upstream_sockets.go has the gRPC servers of upstream's two sockets of a node: upstream_pods.go and
// upstream_resources.go. Programs of the machine that were written for a kubelet connect there.
//
// A watch of pods or of objects (watch.go) follows the store's state, not a queue. A slow
// reader misses intermediate states, never the latest one, and delays no other reader. A
// watch remembers what it has sent: so it can report that an object was deleted, though
// another has its name by now, or that it has left the selection. A watch that resumes
// knows only the objects that have not changed since. It reports the others as added.
//
// open.go has browsers see servers in pods, by paths that are secrets.
//
// Start reading at New in server.go, then routes.go.
package server
