// Package image has images ready for pods: it asks the runtime whether an image
// is there, and has it pulled as the container's pull policy says.
//
//	node.EnsureImage ──▶ Puller.Ensure ──▶ is it there? ──▶ yes
//	                          │ no                     shared by all who wait
//	                          ▼                                │
//	                      rests: failed just now? ─ no ─▶ flights ──▶ runtime
//	                          │ yes
//	                          ▼
//	                     ImagePullBackOff, with the time of the next try
//
// What is shared and what rests is an order: a reference, and whom it is pulled
// as (package credential). Twenty pods that need one image cost one pull; a pull that a registry
// refuses is tried again after 10 s, doubling up to 300 s, however many pods ask.
//
// An image that one pod has pulled with its secret is not for every other: what is
// there is checked against what it was pulled with (records.go), and if in doubt the
// registry is asked.
//
// A pod pulls with its own pull secrets first, then with what the node has (see
// keys.go). Credentials stay in memory: they are in no event, log or error.
//
// What it tells pods' owners is in tell.go, and Puller.Pulls tells what is under way.
// Start reading at Puller.Ensure in puller.go.
package image
