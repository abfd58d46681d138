// Command bench compares the node agent with bare calls to the runtime and, if PEER_KUBELET is set,
// with another kubelet's binary. It prints a table and writes it to docs/BENCHMARKS.md.
//
//	make bench                            everything, about twenty minutes
//	PEER_KUBELET=/path/kubelet make bench with a third column, ten minutes more
//	go run ./test/bench -only burst       one section, nothing written
//
// Each column runs pods on its own containerd (package rig). raw makes the calls directly, nodal
// and peer are processes. All three get the same pods, and the results are read from the runtime: a
// pod has started when the runtime says that its container has. raw need not find anything out
// (column.go), so it is as fast as the calls allow.
//
// A section measures some rows, column after column, so that a busy machine is busy for all of
// them. bench.go lists the sections; most have a file of their own.
//
// Start reading at bench.go.
package main
