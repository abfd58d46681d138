// Package agent puts the parts of the node's agent together and runs them.
//
//	look   -> facts     the machine, the cluster, what the node offers to pods     look.go
//	open   -> memory    the store behind its journal, volumes, files of pods       open.go
//	reach  -> runtime   the container runtime, or one that the agent brings along  reach.go
//	build  -> parts     what measures, the reconciler, the sources of pods         gauges.go, parts.go
//	expose -> api       the server and its listeners                               serve.go
//	run                 all of them, until the context ends                        run.go
//
// Each phase takes the values of those before it and returns a value that does not change afterwards. Nothing but
// a phase takes such a value as a whole. The other functions are glue, such as those of admission.go: each gets the
// two or three things that it needs. Larger glue has packages of its own below.
//
// Settings may change afterwards: the parts that take them are in reload.go.
//
// No other package knows all parts. The package refuses logic about pods: that is for node and reconciler.
//
// Start reading at Run in agent.go.
package agent
