// Package evict says which pods have to end because of what they use of the node.
//
//	storage.go   pods that have written more to the disk than they may
//
// Nothing here measures or acts: figures go in, and what Kubernetes says of a pod
// that has to go comes out. Package reconciler has the pods measured and ended.
//
// Start reading at Overuse.
package evict
