// Package chaos kills the agent and the container runtime at random moments while pods start and
// end. Then it checks the result: every accepted pod runs exactly once, in one sandbox, and no run
// was repeated.
//
//	NODAL_CHAOS_ROUNDS=100 go test -run Chaos ./test/chaos    # make chaos
//	NODAL_CHAOS_SEED=42 go test -run Chaos ./test/chaos       # the same choices again
//
// The evidence comes from two sources that do not depend on the agent: the runtime, and the
// programs themselves, which hold a connection to the test while they live (witness_test.go).
//
// When a kill interrupts a start, the runtime gives it up. Such an attempt does not count as a run,
// even if its program was alive for a moment, and another attempt may follow.
//
// alone_test.go attacks a node on its own runtime, shims included, with pods that count. Only the
// pods whose shim was killed restart, and counted_test.go finds every number in their logs.
//
// Start reading at play in chaos_test.go; truth_test.go collects the evidence and evidence_test.go
// judges it.
package chaos
