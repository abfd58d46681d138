// Package conformance says what the agent relies on in a container runtime, as
// tests that any CRI v1 runtime can be put through.
//
// It is run against the simulated runtime (sim/cri) and against a real
// containerd, so that what is proven on the one holds on the other. It asks
// only for behaviour that the agent builds on; for the whole of the CRI there
// is the project's own suite. Package action does the same one floor above, for
// what the reconciler relies on in the adapter.
//
// Start reading at Run; the cases are in one file a noun.
package conformance
