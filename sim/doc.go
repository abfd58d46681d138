// Package sim plays the life of a node in virtual time: the real store.Store,
// intake, reconciler.Loop and decide steps, on a disk, a runtime and a clock
// that exist in memory only. One seed decides all that happens in a run, so a
// run that breaks a promise can be played again.
//
//	clients ──intake──▶ Store ──▶ agent: reconciler.Loop ──hands──▶ calls ──▶ world
//	   │                  │         ▲                                │ fate      │
//	   │                journal     └────────── replies, looks ──────┘           │
//	   ▼                                                                         ▼
//	ledger: what clients were told ──────────────▶ witness ◀──────── what truly runs
//
// The world's runtime is a Machine, which is without faults and without chance; scripts
// play on the same one, and test/conformance/action holds it to real runtimes.
//
// A call has three moments: it begins, has its effect, is answered. Each may
// be delayed or fail to come, the effect may come after the agent has given up
// or died, and a look may show what was. The agent dies at any moment, also
// inside a commit; its successor has the journal and nothing else.
//
// The witness holds the world, not the agent's view of it, against what clients
// were told: at most one running instance of a container, nothing healthy and
// wanted is ended, no KILL before the grace period ends, a name is used again
// only when nothing of the former pod is left, a pod begins when those have
// ended that make room for it, counts and revisions only grow, no condition
// changes before it last did, a result is final. When the faults end, every accepted pod has to come to
// what was asked of it, and nothing may be left of the others.
//
// What differs from a node is what drives the loop (agent.go) and what it has for
// hands (hands.go): no goroutines, and faults.
//
//	go test ./sim                        10,000 seeds, and whether they met all that they are for
//	go test ./sim -seeds 100000          more; -from 100001 others
//	go test ./sim -run TestSeeds -seed=7 one, with its whole story
//
// Package sim/cri is something else: a runtime over real gRPC, for tests of
// the adapter and of the agent as a whole. Package sim/adapter plays seeds over it.
//
// Start reading at Run, then call.go, machine.go and witness.go.
package sim
