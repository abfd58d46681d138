// Package usage measures what pods have on the node's disk.
//
//	stats (once a minute) ──────────────────┐
//	                                        ├─▶ Meter ─▶ the last walk, if it is fresh enough
//	the evictor (limited pods, each second) ┤     └────▶ a walk through the directory
//	relief (all pods, when a disk is short) ┘
//
// A Meter alone knows where the files of a pod lie: in its volumes and in the logs of its containers. It holds the last
// walk through each directory, so that two readers do not walk the same directory twice. The runtime counts what
// containers write over their images.
//
// Containers write to the files while they are measured. So no path is followed: each directory is opened beneath the
// one before, links are counted as links, and a file system that is mounted below does not count.
//
// Start reading at Meter, then at Measure in measure.go.
package usage
