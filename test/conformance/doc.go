// Package conformance describes the behaviour that the agent needs of a container runtime, as tests
// for any CRI v1 runtime.
//
// The tests run against the simulated runtime (sim/cri) and against a real containerd, so that
// results on one hold on the other. They cover only the behaviour that the agent needs; the CRI
// project has a suite for the rest. Package action does the same one layer above, for what the
// reconciler needs of the adapter.
//
// Start reading at Run; the cases are in one file a noun.
package conformance
