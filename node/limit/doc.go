// Package limit computes what the kernel is to allow a pod and each of its
// containers, from what their specs ask for. It follows Kubernetes' arithmetic to
// the last unit, so that a pod gets here what it gets elsewhere.
//
//	pod ──Class──▶ Guaranteed, Burstable or BestEffort
//	pod ──OfPod──▶ Limits of the pod's own cgroup: all that is in it together
//	container ──OfContainer──▶ Limits of its cgroup inside of that
//
// Start reading at Limits in limit.go.
package limit
