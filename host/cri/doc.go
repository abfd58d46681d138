// Package cri drives a container runtime through CRI v1. It turns a node.Action into one
// call, and the runtime's answer into a node.Observed. It decides nothing, and remembers
// nothing that it could not ask the runtime again.
//
//	node.Action ──Do────▶ package spec builds the request ─▶ runtime
//	node.Observed ◀─List─ and reads its labels back ◀─────── runtime
//	wake(key) ◀────Watch─ watch.go, watch_containerd.go ◀─── events
//
// The labels and annotations in the runtime, named as every kubelet names them, are the
// durable truth: List finds what another process has started.
//
// # Errors
//
// A *node.Failure is definite: the action did not succeed and Reason is
// Kubernetes' word for the cause. An error that wraps node.ErrUnknown leaves open
// whether the action had its effect: the call timed out, the connection broke, or
// an earlier call for the same name is still under way. To stop or remove a missing
// container or sandbox is a success. See errors.go.
//
// # Where things are
//
// A Conn is the connection. Each type over it serves one kind of caller:
//
//	Pods      the reconciler: lists, actions, and hints of changes
//	Images    pulls, lists and removals of images
//	Streams   exec, attach and port-forward
//	Stats     figures of pods and images
//	Health    the runtime's status and features
//
// Start reading at Pods.Do in pods.go; sandbox.go and container.go make the calls. Package
// spec translates a pod to the content of the calls, without I/O. container_request.go
// gathers the facts that the translation depends on.
//
// Package containerd calls the services that containerd has beside CRI. Another runtime
// answers them with Unimplemented, and there CRI has the last word: a command may run on
// when its client is gone (exec_end.go), and a failed pull has no reason but the runtime's
// (pull_reason.go).
package cri
