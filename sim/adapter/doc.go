// Package adapter plays the life of a node with the real way to the container
// runtime: the reconciler in real goroutines, host/image and host/cri over gRPC.
// Time is virtual, and the runtime is sim/cri with its faults. All of it is tests.
//
//	clients ──intake──▶ store ──▶ reconciler ──▶ host/cri ──gRPC──▶ sim/cri
//	   │                            │   │                   faults    │
//	   │                         journal └─ word ─┐                   │
//	   ▼                                          ▼                   ▼
//	ledger: what clients were told ─────────▶ witness ◀──── what truly happened
//
// Package sim searches the loop with a runtime of its own, ten times as fast. What
// it cannot see is searched here: labels that are read back, errors that are told
// apart, lists in two halves, events, and connections that break.
//
// The witness asks two things. The adapter's word has to be true: a success had its
// effect, a definite failure has none, a look shows what was there. And the promises of
// package sim are kept: one instance of a container at a time, nothing healthy and
// wanted is ended, no KILL before the grace period is over, attempts that only grow,
// and nothing left over once the faults have ended.
//
// A seed decides what clients ask and which calls fail. What happens at the very same
// moment is ordered by the Go scheduler, so a run is repeated nearly, not exactly.
//
//	go test ./sim/adapter                          some hundred seeds
//	go test ./sim/adapter -seeds 2000              more; -from 201 others
//	go test ./sim/adapter -run TestSeeds -seed=7   one, with its whole story
//
// Start reading at play in run_test.go.
package adapter
