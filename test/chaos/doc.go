// Package chaos kills the agent and the container runtime at random moments
// while pods start, and then asks the runtime for the truth: every pod that was
// accepted runs exactly once, and nothing that ran was started again.
//
//	NODAL_CHAOS_ROUNDS=100 go test -run Chaos ./test/chaos    # make chaos
//	NODAL_CHAOS_SEED=42 go test -run Chaos ./test/chaos       # the same choices again
//
// Start reading at play in chaos_test.go.
package chaos
