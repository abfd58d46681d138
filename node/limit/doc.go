// Package limit computes the kernel's limits for a pod and each of its containers from their
// specs. It follows Kubernetes' arithmetic to the last unit, so a pod gets the same here as
// elsewhere.
//
//	pod ──Class──▶ Guaranteed, Burstable or BestEffort
//	pod ──OfPod──▶ Limits of the pod's own cgroup: all that is in it together
//	container ──OfContainer──▶ Limits of its cgroup inside of that
//
// Start reading at Limits in limit.go.
package limit
