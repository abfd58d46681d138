// Package assign hands out what only one container can have: CPUs of its own, and
// memory of chosen NUMA nodes. It is pure: the machine and what is held already go
// in, shares or a refusal come out. What it has handed out is kept with the pod, in
// the very record that accepts it; what is free is always worked out from these.
//
//	topology.go  what a machine is made of
//	rules.go     what the node's owner decides, checked
//	assign.go    a pod's shares, in Kubernetes' words where there are none
//	pack.go      which CPUs of those that are free lie together
//	spread.go    or evenly over as few NUMA nodes as can be
//	pool.go      the CPUs that are left for all others
//
// Start reading at Rules.Pod in assign.go.
package assign
