// Command bench measures the node agent beside the bare calls to the runtime
// and, where PEER_KUBELET names one, beside another kubelet's binary. It prints
// a table and writes it to docs/BENCHMARKS.md.
//
//	make bench                            everything, about twenty minutes
//	PEER_KUBELET=/path/kubelet make bench with a third column, ten minutes more
//	go run ./test/bench -only burst       one section, nothing written
//
// A column is something that runs pods on a containerd of its own (package
// rig): raw makes the calls by hand, nodal and peer are processes. All three are
// handed the same pods, and what they did with them is read from the runtime:
// a pod has started when the runtime says its container did. What a kubelet has
// to find out, raw is told (column.go), so it is as fast as the calls allow.
//
// A section measures some rows, column after column, so that a machine that is
// busy is busy for all of them. The list of them is in bench.go, and most have a
// file of their own.
//
// Start reading at bench.go.
package main
