// Package soak lets thousands of pods come and go on one node, and checks that nothing grows with their number: no open
// file, goroutine, thread, memory, file, mount, cgroup or firewall rule.
//
//	make soak    a year of a busy node: 20,000 pods on the simulated runtime, 1,000 on the node's own
//	make test    a few hundred and a few dozen
//
// Pods come in crowds of mixed kinds (kinds_test.go): some fail, some crash again and again, some never get their image.
// Each crowd is read, followed, run commands in and in part replaced, and then deleted (soak_test.go). Meanwhile the
// agent and the runtime are killed at random moments. After each crowd, when the node is empty, every figure is read
// (figures_test.go).
//
// A figure of a process begins again with each start, so no measured process is killed in the second half. Of each
// process, and of the machine, the first half of the figures is warm-up: caches and records fill up to their bounds. The
// trend of the others is the median of the slopes of all pairs (trend.go), which one odd figure does not change. It fails
// the test if it is above what the figure may grow for 1,000 pods, and has added up to more than the figure varies by
// itself.
//
// Start reading at trend.go, then at TestNothingGrowsOnTheSimulatedRuntime.
package soak
