// Package server is the front door: it turns requests into calls of the intake
// and the store, and what it reads there into answers. It holds no pod logic
// and opens no listener.
//
//	gRPC ───────────────────────────┐
//	REST ─ routes ─ gateway ─ inproc ┴─ auth ─ recover ─ kinds ─ services
//	kubelet paths ─ routes ─ auth ──────────────────────────────┘ │
//	                                  intake ◀── change ──────────┤
//	                                  store  ◀── read, watch ─────┘
//
// The protos state the right, the listeners and the paths of each method, and package
// method reads them. routes.go adds the kubelet's own paths. The whole table stands in
// testdata/routes.txt, for people to review. Error kinds and their codes are in
// errors.go. Then there is one file a service (manifests.go, pods.go,
// logs.go, exec.go, events.go, images.go, stats.go, node_info.go; of what pods use
// objects_any.go, for every kind of the table node.Kinds, and one for each kind that
// had a service before, all of them on objects.go) and one a kubelet
// path (kubelet_*.go). What pods look like to a client is in render.go;
// viewers do not see the values in their environments (render_viewer.go).
//
// REST answers are protojson: names in camelCase, 64-bit integers as strings,
// unset fields left out. A manifest is posted as it stands, in YAML or JSON.
// Streams are newline-delimited JSON, or server-sent events for who accepts
// text/event-stream; logs are plain text.
//
// A watch of pods or of objects (watch.go) follows the store's state, not a queue: a
// slow reader misses intermediate states, never the latest one, and delays no other
// reader. A watch remembers what it has sent. So it can tell as deleted what was replaced
// under its name, or left the selection. After a resume it remembers what has not changed
// since: when that changes, it is told as added once more.
//
// Start reading at New in server.go, then routes.go.
package server
