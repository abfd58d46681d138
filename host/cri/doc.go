// Package cri drives a container runtime through CRI v1: it turns a node.Action
// into one call and what the runtime says into a node.Observed. It decides
// nothing and remembers nothing that the runtime could not tell again.
//
//	node.Action ──Do────▶ package spec builds the request ─▶ runtime
//	node.Observed ◀─List─ and reads its labels back ◀─────── runtime
//	wake(key) ◀────Watch─ watch.go, watch_containerd.go ◀─── events
//
// The runtime's own labels and annotations, named as every kubelet names them,
// are the durable truth: what another process started is found again by List.
//
// # What an error says
//
// A *node.Failure is definite: the action did not succeed and Reason is
// Kubernetes' word for why. An error that wraps node.ErrUnknown leaves open
// whether the action had its effect: the call timed out, the connection broke, or
// an earlier call for the same name is still under way. Stopping or
// removing what is not there is a success. See errors.go.
//
// # Where things are
//
// A Conn is the connection. Each of the types over it serves one kind of caller: Pods the reconciler, Images those
// that pull, list and collect images, Streams those that talk to what runs, Stats the collector of figures, and Health
// those that ask how the runtime is.
//
// Start reading at Pods.Do in pods.go. sandbox.go and container.go make the calls. Package spec translates a pod to
// what goes into them, without I/O; container_request.go asks for what the translation depends on.
//
// Package containerd calls the services that containerd has beside CRI. Another runtime answers
// them with Unimplemented.
package cri
