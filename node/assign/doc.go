// Package assign hands out what only one container can have: exclusive CPUs, memory of
// chosen NUMA nodes, and devices. It is pure: the machine and the shares that are held go in, new shares
// or a refusal come out. The shares are kept in the record that accepts the pod; what is
// free is always computed from these records.
//
//	topology.go  the processors of a machine
//	rules.go     the settings of the node's owner, checked
//	assign.go    a pod's shares, or a refusal in Kubernetes' words
//	stock.go     what is left of a machine, and where
//	serve.go     what one container gets of it
//	affinity.go  on which NUMA nodes CPUs and memory lie together
//	memory.go    amounts of memory and huge pages
//	devices.go   devices of plugins
//	prefer.go    which of them a plugin may choose itself
//	pack.go      which of the free CPUs lie together
//	spread.go    or evenly over as few NUMA nodes as can be
//	keep.go      what another kubelet has given
//	pool.go      the CPUs that are left for all others
//	use.go       figures about assignments and refusals
//
// Start reading at Rules.Pod in assign.go.
package assign
