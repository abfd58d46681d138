// Package shutdown ends the pods of a machine that shuts down, and lets them run again if it stays up.
//
//	host/logind, SIGTERM ──GoDown──▶ Machine ──Next──▶ terminations in the slots ──▶ reconciler
//	                     ◀─ended──      │
//	                     ──StayUp─▶     └── Resume ──▶ intake
//
//	next.go      decides which pods end now, and by when
//	machine.go   knows whether the machine shuts down, and carries that out
//	pods.go      says of each pod what the decision needs, and journals its end
//
// Deciding is pure. The end of a pod is journalled before anything of it ends, as that of any pod which the node ends.
// A pod of a cluster ends for good: the cluster makes another one elsewhere. Every other pod is halted, and runs again
// under the same UID once the machine is back.
//
// Start reading at Next, then at Machine.
package shutdown
