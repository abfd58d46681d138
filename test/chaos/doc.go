// Package chaos kills the agent and the container runtime at random moments
// while pods start and end, and then asks for the truth: every pod that was
// accepted runs exactly once, in one sandbox, and nothing that ran was started
// again.
//
//	NODAL_CHAOS_ROUNDS=100 go test -run Chaos ./test/chaos    # make chaos
//	NODAL_CHAOS_SEED=42 go test -run Chaos ./test/chaos       # the same choices again
//
// The truth is asked of two who know nothing of the agent: of the runtime, and
// of the programs themselves, which hold a connection to the test for as long
// as they live (witness_test.go).
//
// A start that a kill interrupts is given up by the runtime. Such an attempt
// has never run, even if its program was alive for a moment, and it may be
// followed by another.
//
// alone_test.go does the same to a node on the runtime that it brings along, shims
// included, with pods that count: only those whose shim was killed start anew, and
// counted_test.go finds every number in their logs.
//
// Start reading at play in chaos_test.go; truth_test.go collects the evidence
// and evidence_test.go judges it.
package chaos
