// Package runs finds what a request is about: the pod of a name, the run of a container
// that a client wants to enter, the sandbox with a pod's network, the run whose log is
// meant. It reads that log, too, until the run, the client or the agent ends.
//
//	run.go  the pod, the run that goes on, the sandbox; Containers, which enters them
//	log.go  the run whose log is asked for
//	kept.go the same for runs that are named, of deleted pods too; and which logs there are
//	read.go reads it
//
// The services of the API and the kubelet's own paths ask the same questions here, and
// put the errors into their own words. It writes to no client and starts nothing.
//
// Start reading at Entrance in run.go.
package runs
