// Package adapter plays the life of a node with the real adapter of the container runtime: the
// reconciler in real goroutines, host/image and host/cri over gRPC. Time is virtual, and the
// runtime is sim/cri with its faults. The package holds tests only.
//
//	clients ──intake──▶ store ──▶ reconciler ──▶ host/cri ──gRPC──▶ sim/cri
//	   │                            │   │                   faults    │
//	   │                         journal └─ answers ─┐                │
//	   ▼                                             ▼                ▼
//	ledger: what clients were told ────────────▶ witness ◀──── what truly happened
//
// Package sim tests the loop with a runtime of its own, ten times as fast. This package tests what
// that runtime leaves out: labels that are read back, errors that are told apart, lists in two
// halves, events, and connections that break.
//
// The witness checks two things. First, the adapter's answers are true: a success had its effect, a
// definite failure had none, and a look shows what existed. Second, the promises of package sim are
// kept: a container has one instance at a time, a wanted and healthy container runs on, no KILL
// comes before the grace period is over, attempts only grow, and nothing is left over once the
// faults have ended.
//
// A seed decides what clients ask for and which calls fail. The Go scheduler orders events of the
// same moment, so a repeated run is nearly the same, not exactly.
//
//	go test ./sim/adapter                          some hundred seeds
//	go test ./sim/adapter -seeds 2000              more; -from 201 selects others
//	go test ./sim/adapter -run TestSeeds -seed=7   one seed, with its whole story
//
// Start reading at play in run_test.go.
package adapter
