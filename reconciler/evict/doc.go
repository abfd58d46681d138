// Package evict ends pods that use more of the node than they may, or than the node has left.
//
//	storage.go    decides which pods have written more to the disk than they may
//	evictor.go    has the pods measured, and ends those
//
//	pressure.go   decides what is done about a node that runs short
//	rank.go       and which pod goes first
//	pace.go       and when to measure the node again
//	relief.go     has the node and its pods measured, and does that
//
//	end.go        journals that a pod has to end
//
// Deciding is pure: figures go in, and Kubernetes' words for a pod that has to go come
// out. Package reconciler then ends the pod as it ends any other. Since the end is journalled
// first, an agent that dies meanwhile does not start the pod again.
//
// Start reading at Overuse, then at Evictor; for the node at Next, then at Relief.
package evict
