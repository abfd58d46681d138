// Package chaos kills the agent and the container runtime at random moments
// while pods start and end, and then asks the runtime for the truth: every pod
// that was accepted runs exactly once, and nothing that ran was started again.
//
//	NODAL_CHAOS_ROUNDS=100 go test -run Chaos ./test/chaos    # make chaos
//	NODAL_CHAOS_SEED=42 go test -run Chaos ./test/chaos       # the same choices again
//
// A start that a kill interrupts is given up by the runtime: such an attempt
// has never run, stays as an exited one, and the next attempt takes its place.
// Start reading at play in chaos_test.go; truth_test.go is what has to hold.
package chaos
