// Package workload runs the workloads of a node without a cluster: Deployments, ReplicaSets, DaemonSets,
// StatefulSets, Jobs and CronJobs. It is a client of the node API like any other, with an identity of its own.
//
//	watches ──▶ bell ──▶ look (lists) ──▶ decide.Next ──▶ act (calls) ──▶ watches
//
// A look reads all workloads and pods, so nothing is remembered from one to the next but why pods could not be made. A
// node without workloads is looked at once, and its pods are not watched.
//
// Start reading at Run in run.go.
package workload
