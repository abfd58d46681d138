// Package image gets images ready for pods: it asks the runtime whether an image is there,
// and pulls it if the container's pull policy says so.
//
//	node.EnsureImage ──▶ Puller.Ensure ──▶ is it there? ──▶ yes
//	                          │ no                     shared by all waiters
//	                          ▼                                │
//	                      rests: failed just now? ─ no ─▶ flights ──▶ runtime
//	                          │ yes
//	                          ▼
//	                     ImagePullBackOff, with the time of the next try
//
// An order is shared, and rests: a reference, and the credential to pull it with
// (package credential). Twenty pods that need one image cost one pull. A pull that a
// registry refuses is tried again after 10 s, doubling up to 300 s. A pod that asks for the first
// time does not wait for that.
//
// An image that one pod has pulled with its secret is not for every other pod: records
// (records.go) hold which credentials it was pulled with, and if in doubt the registry
// decides.
//
// A pod pulls with its own pull secrets first, then with the credentials of the node (see
// keys.go). Credentials stay in memory: they are in no event, log or error.
//
// Fetch (fetch.go) pulls for a caller of the API instead, in the same flights.
//
// tell.go writes the events for pods' owners, and Puller.Pulls lists the running pulls.
// Start reading at Puller.Ensure in puller.go.
package image
