// Package life says how far a pod has come: which of its init containers are
// past, whether a run that ended is followed by another, whether all is over.
// These are pure questions about a slot and an observation. Who decides what to
// do next asks them, and who tells readers how the pod is; they must not differ.
//
//	init container   runs to its success, then the next may begin
//	sidecar          an init container that is always restarted: it goes on
//	                 running, and ends after the application containers
//	application      all begin once the init containers are past and the
//	                 sidecars have started
//
// A pod starts over when a rule of a container wants it: what ran before counts for
// nothing then, and all of that begins again.
//
// Start reading at Life, then Over.
package life
