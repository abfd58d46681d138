// Package policy decides what a pod may ask of the machine, by who posts it and by
// the namespace it goes to.
//
//	poster ────┐
//	namespace ─┼─▶ Check ─▶ none, or each field that goes too far
//	the pod ───┘
//
// The levels are those of Kubernetes' Pod Security Standards, and their rules come from
// Kubernetes' own library: privileged allows everything, baseline prevents known ways to
// take over the machine, restricted also wants pods to be hardened. The level of the
// poster and that of the namespace count both, so the stricter one decides.
//
// Beside them stand switches that the kubelet once had: whether any pod may be
// privileged, and from where a pod may ask for the machine's network, processes or IPC.
//
// Admission asks once, when a pod is taken in or changed. Pods that run already stay when the
// policy becomes stricter. Enter asks again before a command runs in a pod, since
// a shell in a privileged pod is as much as the right to post one.
//
// Start reading at Check in policy.go.
package policy
