// Package membership makes the node a member of a Kubernetes cluster.
//
//	New ---- reads how to reach the API server, before anything else starts
//	Guard -- has the guard of the node's API ask the cluster about unknown callers
//	Run ---- gets a certificate, if there is none, and then keeps the node in its cluster
//
// The work is done by the packages below cluster, which are clients of the node's API like any other. This
// package puts them together.
//
// Start reading at New in membership.go.
package membership
