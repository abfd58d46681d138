// Package sim plays the life of a node in virtual time. It runs the real store.Store, intake,
// reconciler.Loop and decide steps on a disk, a runtime and a clock that exist in memory only. One
// seed decides all that happens in a run, so a run that breaks a promise can be played again.
//
//	clients ──intake──▶ Store ──▶ agent: reconciler.Loop ──hands──▶ calls ──▶ world
//	   │                  │         ▲                                │ fate      │
//	   │                journal     └────────── replies, looks ──────┘           │
//	   ▼                                                                         ▼
//	ledger: what clients were told ──────────────▶ witness ◀──────── what truly runs
//
// The world's runtime is a Machine, without faults and without chance. Scripts play on the same
// one, and test/conformance/action checks it against real runtimes.
//
// A call begins, has its effect, and is answered. Each of these may be delayed or fail to happen.
// The effect may come after the agent has given up or died, and a look may be outdated. The agent
// dies at random moments, even inside a commit; its successor has the journal and nothing else.
//
// The witness compares the world, not the agent's view of it, with what clients were told:
//
//   - a container has at most one running instance;
//   - a wanted and healthy container runs on;
//   - no KILL comes before the grace period ends;
//   - a name is used again only when nothing of the former pod is left;
//   - a pod begins after the pods that had to make room for it have ended;
//   - a pod that starts after others begins once they have been ready;
//   - counts and revisions only grow;
//   - the transition time of a condition never goes back;
//   - a result is final;
//   - a shutdown of the machine gives no pod more time than its phase, ends critical pods last, and loses none.
//
// In runs of their own (shutdown.go) the machine shuts down now and then, and reboots or stays up after all.
//
// Once the faults have ended, every accepted pod has to reach the state that its client asked for,
// and nothing of other pods may be left.
//
// Each kind of asset has a realm (realm.go): what there is of it in the world, its faults, and its
// invariants.
//
// Two things differ from a node: the driver of the loop (agent.go) and its hands (hands.go). They
// have no goroutines, and they have faults.
//
//	go test ./sim                        10,000 seeds, and a check that they met every situation
//	go test ./sim -seeds 100000          more; -from 100001 selects others
//	go test ./sim -run TestSeeds -seed=7 one seed, with its whole story
//	go test ./sim -run TestSeedsOfAMachineThatShutsDown
//
// Package sim/cri is a different runtime: it serves real gRPC, for tests of the adapter and of the
// whole agent. Package sim/adapter plays seeds over it.
//
// Start reading at Run, then call.go, machine.go and witness.go.
package sim
