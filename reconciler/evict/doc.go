// Package evict ends pods that use more of the node than they may.
//
//	storage.go   decides which pods have written more to the disk than they may
//	evictor.go   has the pods measured, and journals which of them have to end
//
// Deciding is pure: figures go in, and Kubernetes' words for a pod that has to go come
// out. Package reconciler then ends the pod as it ends any other.
//
// Start reading at Overuse, then at Evictor.
package evict
