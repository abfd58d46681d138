// Package assign hands out what only one container can have: CPUs of its own, and
// memory of chosen NUMA nodes. It is pure: the machine and what is held already go
// in, shares or a refusal come out. What it has handed out is kept with the pod, in
// the very record that accepts it; what is free is always worked out from these.
//
//	topology.go  what a machine is made of
//	rules.go     what the node's owner decides, checked
//	assign.go    a pod's shares, in Kubernetes' words where there are none
//	stock.go     what is left of a machine, and where
//	serve.go     what one container gets of it
//	affinity.go  on which NUMA nodes CPUs and memory lie together
//	memory.go    how much of each there is
//	pack.go      which CPUs of those that are free lie together
//	spread.go    or evenly over as few NUMA nodes as can be
//	pool.go      the CPUs that are left for all others
//	use.go       how many of them there are, and what a pod was refused for
//
// Start reading at Rules.Pod in assign.go.
package assign
