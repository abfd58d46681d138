// Package usage measures what pods have on the node's disk.
//
//	stats (once a minute) ──────────────────┐
//	                                        ├─▶ Meter ─▶ the last walk, if it is fresh enough
//	the evictor (limited pods, each second) ┘     └────▶ a walk through the directory
//
// A Meter is the one place that knows where the files of a pod lie: in its volumes and in the logs of its containers.
// It holds the last walk through each directory, so that two readers do not walk the same one twice. What containers
// write over their images the runtime counts.
//
// Containers write what is measured, while it is measured. So nothing is followed by name: each directory is opened
// beneath the one before, links are counted as links, and what is mounted somewhere below lies elsewhere and does not
// count.
//
// Start reading at Meter, then at Measure in measure.go.
package usage
