// Package life says how far a pod has come: which of its init containers are past, whether a
// run that ended is followed by another, whether all is over. These are pure questions about
// a slot and an observation. The deciding steps and the status both ask them, so that they
// never differ.
//
//	init container   runs to its success, then the next may begin
//	sidecar          an init container that is always restarted: it goes on
//	                 running, and ends after the application containers
//	application      all begin once the init containers are past and the
//	                 sidecars have started
//
// A pod starts over when a rule of a container wants it: earlier runs count for nothing
// then, and all containers begin again.
//
// Start reading at Life, then Over.
package life
